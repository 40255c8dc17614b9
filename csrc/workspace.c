#include "workspace.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "kernel.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    void *base;
    size_t size;
    int lent;
} kept;

/* Large blocks stand on huge pages: rows of the gradients are read across, thousands of bytes apart, and with pages of
 * 4 kB every one of them would be looked up anew. */
static void *allocate(size_t size) {
    void *base = NULL;
    const size_t huge = (size_t)2 << 20;
    if (posix_memalign(&base, size >= huge ? huge : 128, size > 0 ? size : 1) != 0) return NULL;
    el_will_fill(base, size);
    return base;
}

/* A fork in the middle of these few lines must not leave the child with a lock that nobody holds, nor with a block
 * that a thread it does not have has borrowed. */
static void before_fork(void) { pthread_mutex_lock(&lock); }
static void after_fork_in_parent(void) { pthread_mutex_unlock(&lock); }
static void after_fork_in_child(void) {
    kept.lent = 0;
    pthread_mutex_unlock(&lock);
}
static void register_fork_handlers(void) { pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child); }

void *el_borrow(size_t size) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_fork_handlers);
    pthread_mutex_lock(&lock);
    const int own = kept.lent;
    void *base = NULL;
    if (!own) {
        if (kept.size < size) {
            free(kept.base);
            kept.base = allocate(size);
            kept.size = kept.base ? size : 0;
        }
        base = kept.base;
        kept.lent = base != NULL;
    }
    pthread_mutex_unlock(&lock);
    return own ? allocate(size) : base;
}

void el_return(void *base) {
    pthread_mutex_lock(&lock);
    const int ours = kept.lent && base == kept.base;
    if (ours) kept.lent = 0;
    pthread_mutex_unlock(&lock);
    if (!ours) free(base);
}

int64_t el_workspace_bytes(void) {
    pthread_mutex_lock(&lock);
    const int64_t size = (int64_t)kept.size;
    pthread_mutex_unlock(&lock);
    return size;
}

void el_release_workspace(void) {
    pthread_mutex_lock(&lock);
    if (!kept.lent) {
        free(kept.base);
        kept.base = NULL;
        kept.size = 0;
    }
    pthread_mutex_unlock(&lock);
}

void el_will_fill(void *array, size_t size) {
#ifdef MADV_HUGEPAGE
    const uintptr_t page = 4096, first = ((uintptr_t)array + page - 1) / page * page;
    const uintptr_t last = ((uintptr_t)array + size) / page * page;
    if (size >= ((size_t)4 << 20)) (void)madvise((void *)first, last - first, MADV_HUGEPAGE);
#else
    (void)array, (void)size;
#endif
}
