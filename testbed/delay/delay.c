/* delay.c: a link with a distance: two network devices, of which each gives out what was sent into
 * the other some time before, in the same order.
 *
 *     delay MICROSECONDS NEAR FAR
 *
 * Both are made in the network namespace that it is started in, and may be moved to others. Once
 * they are there, it goes into the background. What finds DEPTH frames under way waits in the queue
 * of the device that it was sent into, or is dropped there.
 */
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { DEPTH = 8192, FRAME_BYTES = 2048, NS_PER_S = 1000000000 };

struct frame {
    int64_t due_ns;
    int bytes;
    char data[FRAME_BYTES];
};

/* One direction: frames under way, the oldest at `first`. */
struct way {
    int from, to;
    unsigned first, count;
    struct frame *frames;
};

static void give_up(const char *what)
{
    perror(what);
    exit(1);
}

static int make_device(const char *name)
{
    int device = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    struct ifreq wish = {.ifr_flags = IFF_TAP | IFF_NO_PI};
    strncpy(wish.ifr_name, name, IFNAMSIZ - 1);
    if (device < 0 || ioctl(device, TUNSETIFF, &wish))
        give_up(name);
    return device;
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* All that has been sent into one device, to be given out by the other after `delay_ns`. */
static void take(struct way *way, int64_t delay_ns)
{
    while (way->count < DEPTH) {
        struct frame *frame = &way->frames[(way->first + way->count) % DEPTH];
        frame->bytes = (int)read(way->from, frame->data, FRAME_BYTES);
        if (frame->bytes <= 0)
            return;
        frame->due_ns = now_ns() + delay_ns;
        way->count++;
    }
}

/* What is due; when the next is, or INT64_MAX. What the device does not take is lost, as behind a
 * cable that is not plugged in. */
static int64_t give(struct way *way)
{
    while (way->count) {
        struct frame *frame = &way->frames[way->first];
        if (frame->due_ns > now_ns())
            return frame->due_ns;
        ssize_t given = write(way->to, frame->data, (size_t)frame->bytes);
        (void)given;
        way->first = (way->first + 1) % DEPTH;
        way->count--;
    }
    return INT64_MAX;
}

static void wait_until(int64_t due_ns, const struct way ways[2])
{
    struct pollfd sources[2];
    for (int i = 0; i < 2; i++)
        sources[i] = (struct pollfd){ways[i].from, ways[i].count < DEPTH ? POLLIN : 0, 0};
    int64_t left_ns = due_ns - now_ns();
    if (left_ns < 0)
        left_ns = 0;
    struct timespec left = {left_ns / NS_PER_S, left_ns % NS_PER_S};
    ppoll(sources, 2, due_ns == INT64_MAX ? NULL : &left, NULL);
}

static struct frame *make_frames(void)
{
    struct frame *frames = calloc(DEPTH, sizeof *frames);
    if (!frames)
        give_up("memory");
    return frames;
}

/* A link waits for nobody's processor; who may not ask for that gets on without. */
static void be_prompt(void)
{
    struct sched_param least = {.sched_priority = 1};
    sched_setscheduler(0, SCHED_RR, &least);
    prctl(PR_SET_TIMERSLACK, 1ul);
}

int main(int count, char **arguments)
{
    if (count != 4) {
        fprintf(stderr, "delay MICROSECONDS NEAR FAR\n");
        return 2;
    }
    int64_t delay_ns = (int64_t)(atof(arguments[1]) * 1000);
    int near = make_device(arguments[2]), far = make_device(arguments[3]);
    if (daemon(0, 0))
        give_up("daemon");
    be_prompt();
    struct way ways[2] = {{near, far, 0, 0, make_frames()}, {far, near, 0, 0, make_frames()}};
    for (;;) {
        int64_t due_ns = INT64_MAX;
        for (int i = 0; i < 2; i++) {
            take(&ways[i], delay_ns);
            int64_t next_ns = give(&ways[i]);
            due_ns = next_ns < due_ns ? next_ns : due_ns;
        }
        wait_until(due_ns, ways);
    }
}
