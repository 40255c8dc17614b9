/* A small thread pool: no OpenMP, because two of its runtimes in one process hang after fork. */
#ifndef EIGENLOOP_POOL_H
#define EIGENLOOP_POOL_H

typedef void (*el_part)(void *context, int part);

/* Run body(context, 0 .. parts-1), each once, and return when all are done. Which thread runs a part is left open, so
 * results must not depend on it. Where the pool is in use by another caller, this thread runs every part itself. */
void el_parallel(int parts, el_part body, void *context);

/* End the workers and wait for them; the next el_parallel starts new ones. For tests. */
void el_stop_workers(void);

#endif
