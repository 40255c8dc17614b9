/* Scratch memory that is kept between calls: fresh pages cost more than the arithmetic done on them. */
#ifndef EIGENLOOP_WORKSPACE_H
#define EIGENLOOP_WORKSPACE_H

#include <stddef.h>
#include <stdint.h>

/* A block to cut pieces from. With a null base it only counts, so that one function both sizes and cuts. */
typedef struct {
    char *base;
    size_t used;
} el_block;

/* `size` bytes aligned for every vector and away from the next piece's cache line. */
static inline void *el_cut(el_block *block, size_t size) {
    void *piece = block->base ? block->base + block->used : NULL;
    block->used += (size + 127) / 128 * 128;
    return piece;
}

/* At least `size` bytes, or null. Give them back with el_return; a second caller at the same time gets a block of its own. */
void *el_borrow(size_t size);
void el_return(void *base);

/* Ask for huge pages under a large array that is about to be written for the first time: a page fault for every 4 KiB
 * costs as much as the arithmetic. Only a hint. */
void el_will_fill(void *array, size_t size);

#endif
