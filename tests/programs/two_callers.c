/* two_callers: waits for a line, then first() touches FIRST pages through
 * touch(), second() SECOND of them, and read(2) touches BY_KERNEL more. To be
 * built with frame pointers. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define FIRST 300
#define SECOND 700
#define BY_KERNEL 64
#define PAGE 4096L

#define KEPT __attribute__((noinline, noclone, used))

/* What calls something has a frame. */
KEPT void nothing(void)
{
    asm volatile("");
}

KEPT void touch(volatile char *at)
{
    *at = 1;
    nothing();
}

KEPT void first(char *at)
{
    touch(at);
}

KEPT void second(char *at)
{
    touch(at);
}

/* By an instruction of its own: the C library's read() has no frame. */
KEPT void by_kernel(int zero, char *at)
{
    long done = SYS_read;
    asm volatile("syscall"
                 : "+a"(done)
                 : "D"((long)zero), "S"(at), "d"(BY_KERNEL * PAGE)
                 : "rcx", "r11", "memory");
    if (done != BY_KERNEL * PAGE)
        puts("too little");
}

int main(void)
{
    long pages = FIRST + SECOND + BY_KERNEL;
    char *memory = mmap(0, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(memory, pages * PAGE, MADV_NOHUGEPAGE);
    puts("ready");
    fflush(stdout);
    getchar();
    for (long at = 0; at < FIRST + SECOND; at++)
        (at < FIRST ? first : second)(memory + at * PAGE);
    by_kernel(open("/dev/zero", O_RDONLY), memory + (FIRST + SECOND) * PAGE);
    return 0;
}
