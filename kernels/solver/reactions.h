/* Local reactions, as a chemical mechanism has them: every cell by itself, many operations on few
 * numbers.
 *
 * Tracers react in a ring: in one round, for k = 1, 2, …, the amount r = RATE T a b / (1 + a + b)
 * turns from tracer k (a) into the next one (b; the last one's next is the first), T being the
 * cell's temperature factor (1 without such an input). Second order at low and first order at high
 * concentration, as an enzyme's kinetics; values stay positive, and the sum over all tracers stays
 * what it is but for rounding. One tracer alone relaxes to 1.
 */
#ifndef SOLVER_REACTIONS_H
#define SOLVER_REACTIONS_H

#include "model.h"

#define REACTION_RATE 0.01
#define EMISSION_PER_STEP 1e-3 /* of the input's value, in a tracer's units */

/* `work` rounds in every cell of the tile. */
void reactions_step(struct model *model);

#endif
