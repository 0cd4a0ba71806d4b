/* watch WRITES: writes WRITES times to the eight bytes at `watched`, from one
 * instruction, and never elsewhere near them.
 *
 * stdout: watched ADDRESS / after ADDRESS / writes COUNT. A data breakpoint
 * traps behind the instruction, so `after` is the instruction pointer of
 * every record. Linked at fixed addresses: WRITES of 0 tells them. The bytes
 * are not zero at the start: .bss is cleared by the kernel, which the
 * breakpoint sees too. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

uint64_t watched __attribute__((aligned(64))) = 1;
static char apart[64] __attribute__((used)) = "so that nothing of anyone else lies in its line";
extern char watch_after[] __asm__(".Lwatch_after");

int main(int argc, char **argv)
{
    uint64_t writes = argc > 1 ? strtoull(argv[1], NULL, 0) : 1000;
    printf("watched %p\nafter %p\nwrites %" PRIu64 "\n", (void *)&watched, (void *)watch_after,
           writes);
    fflush(stdout);
    uint64_t left = writes;
    if (left)
        __asm__ volatile(".Lwatch_again:\n"
                         "mov %0, watched\n"
                         ".Lwatch_after: dec %0\n"
                         "jnz .Lwatch_again\n"
                         : "+r"(left)
                         :
                         : "memory", "cc");
    return 0;
}
