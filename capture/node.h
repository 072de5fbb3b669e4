/* node.h: streams on a node's own storage. Private to the core. */
#ifndef TAILRACE_NODE_H
#define TAILRACE_NODE_H

/* Before the first stream: where this process's go. */
void node_starts(void);

/* Once this process's streams are closed. */
void node_process_ends(void);

#endif
