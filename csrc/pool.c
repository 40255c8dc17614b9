#include "pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#if defined(__SSE2__)
#include <xmmintrin.h>
#define FLUSH_TO_ZERO 0x8000u
#define DENORMALS_ARE_ZERO 0x0040u
#endif

#define MOST_WORKERS 256

/* How long to look before going to sleep, in nanoseconds. Waking up costs tens of microseconds, a fifth of a small step:
 * parts end almost together, and the backward pass follows soon on the forward pass. */
#define PATIENCE 150000

static pthread_mutex_t owner = PTHREAD_MUTEX_INITIALIZER; /* held by the thread whose job the pool runs */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;  /* guards what follows */
static pthread_cond_t work = PTHREAD_COND_INITIALIZER, finished = PTHREAD_COND_INITIALIZER;
static pthread_t threads[MOST_WORKERS];
static int workers, stopping;
static atomic_int jobs; /* a count of those begun, for workers that are still awake */
static struct {
    el_part body;
    void *context;
    int parts, next;
    atomic_int left;
} job;

/* Wait for a value to change, for a while. */
static void look_at(atomic_int *value, int seen) {
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        for (int i = 0; i < 64; i++) {
            if (atomic_load(value) != seen) return;
#if defined(__x86_64__) || defined(__i386__)
            __builtin_ia32_pause();
#endif
        }
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - start.tv_sec) * 1000000000L + now.tv_nsec - start.tv_nsec < PATIENCE);
}

/* Run a part with numbers too small to be normal taken for zero: a gradient that fades over a thousand steps passes
 * through them, and they cost a processor up to a hundred times as much. The caller's mode is put back. */
static void run_part(el_part body, void *context, int part) {
#if defined(__SSE2__)
    const unsigned before = _mm_getcsr();
    _mm_setcsr(before | FLUSH_TO_ZERO | DENORMALS_ARE_ZERO);
    body(context, part);
    _mm_setcsr(before);
#else
    body(context, part);
#endif
}

static void run_parts(void) { /* called and returns with the lock held */
    while (job.next < job.parts) {
        const int part = job.next++;
        const el_part body = job.body;
        void *const context = job.context;
        pthread_mutex_unlock(&lock);
        run_part(body, context, part);
        pthread_mutex_lock(&lock);
        if (atomic_fetch_sub(&job.left, 1) == 1) pthread_cond_broadcast(&finished);
    }
}

static void *worker(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    while (!stopping) {
        run_parts();
        const int seen = atomic_load(&jobs);
        pthread_mutex_unlock(&lock);
        look_at(&jobs, seen);
        pthread_mutex_lock(&lock);
        if (!stopping && job.next >= job.parts && atomic_load(&jobs) == seen) pthread_cond_wait(&work, &lock);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void start_workers(int wanted) { /* called with the lock held; fewer is slower, not wrong */
    sigset_t all, before;
    if (wanted > MOST_WORKERS) wanted = MOST_WORKERS;
    if (workers >= wanted) return;
    sigfillset(&all); /* Ctrl-C belongs to the interpreter's thread */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (workers < wanted && pthread_create(&threads[workers], NULL, worker, NULL) == 0) workers++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* fork copies one thread only: the child starts without workers and with locks nobody holds. */
static void before_fork(void) {
    pthread_mutex_lock(&owner);
    pthread_mutex_lock(&lock);
}

static void after_fork_in_parent(void) {
    pthread_mutex_unlock(&lock);
    pthread_mutex_unlock(&owner);
}

static void after_fork_in_child(void) {
    workers = 0;
    job.parts = job.next = 0;
    pthread_mutex_init(&owner, NULL);
    pthread_mutex_init(&lock, NULL);
    pthread_cond_init(&work, NULL);
    pthread_cond_init(&finished, NULL);
}

static void register_fork_handlers(void) { pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child); }

void el_parallel(int parts, el_part body, void *context) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_fork_handlers);
    if (parts == 1 || pthread_mutex_trylock(&owner) != 0) {
        for (int part = 0; part < parts; part++) run_part(body, context, part);
        return;
    }
    pthread_mutex_lock(&lock);
    start_workers(parts - 1);
    job.body = body;
    job.context = context;
    job.parts = parts;
    job.next = 0;
    atomic_store(&job.left, parts);
    atomic_fetch_add(&jobs, 1);
    pthread_cond_broadcast(&work);
    run_parts();
    pthread_mutex_unlock(&lock);
    for (int left = atomic_load(&job.left); left > 0; left = atomic_load(&job.left)) {
        look_at(&job.left, left);
        if (atomic_load(&job.left) == left) break;
    }
    pthread_mutex_lock(&lock);
    while (atomic_load(&job.left) > 0) pthread_cond_wait(&finished, &lock);
    pthread_mutex_unlock(&lock);
    pthread_mutex_unlock(&owner);
}

void el_stop_workers(void) {
    pthread_mutex_lock(&owner);
    pthread_mutex_lock(&lock);
    stopping = 1;
    const int running = workers;
    pthread_cond_broadcast(&work);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < running; i++) pthread_join(threads[i], NULL);
    pthread_mutex_lock(&lock);
    workers = 0;
    stopping = 0;
    pthread_mutex_unlock(&lock);
    pthread_mutex_unlock(&owner);
}
