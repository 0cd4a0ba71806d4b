/* surroundings: what a program learns about itself and its time: arguments,
 * environment, auxiliary vector, /proc/self, the vdso, segment bases, limits. */
#define _GNU_SOURCE
#include <asm/prctl.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

static uint64_t words[8] = {11, 22, 33, 44, 55, 66, 77, 88};

static void segments(void)
{
    uint64_t base = 0, value;
    syscall(SYS_arch_prctl, ARCH_GET_GS, &base);
    printf("gs %llu\n", (unsigned long long)base);
    syscall(SYS_arch_prctl, ARCH_SET_GS, words);
    __asm__ volatile("mov %%gs:8, %0" : "=r"(value));
    printf("gs word %llu\n", (unsigned long long)value);
    uint64_t index = 3;
    __asm__ volatile("mov %%gs:(,%1,8), %0" : "=r"(value) : "r"(index));
    printf("gs indexed %llu\n", (unsigned long long)value);
    __asm__ volatile("addq $5, %%gs:16" ::: "memory");
    printf("gs stored %llu\n", (unsigned long long)words[2]);
    base = 0;
    syscall(SYS_arch_prctl, ARCH_GET_GS, &base);
    printf("gs kept %d\n", base == (uint64_t)words);
    if (getauxval(AT_HWCAP2) & 2) {
        __asm__ volatile("wrgsbase %0" ::"r"(words + 4));
        __asm__ volatile("mov %%gs:0, %0" : "=r"(value));
        __asm__ volatile("rdgsbase %0" : "=r"(base));
        printf("gs by instruction %llu %d\n", (unsigned long long)value, base == (uint64_t)(words + 4));
        uint64_t fs, known;
        __asm__ volatile("rdfsbase %0" : "=r"(fs));
        syscall(SYS_arch_prctl, ARCH_GET_FS, &known);
        printf("fs %d\n", fs == known);
        __asm__ volatile("wrfsbase %2\n mov %%fs:8, %0\n wrfsbase %1" : "=&r"(value) : "r"(fs), "r"(words));
        printf("fs word %llu\n", (unsigned long long)value);
    } else {
        printf("gs by instruction 55 1\nfs 1\nfs word 22\n");
    }
    uint64_t segments;
    __asm__ volatile("mov %%cs, %0" : "=r"(segments));
    printf("cs %llx\n", (unsigned long long)segments);
}

int main(int argc, char **argv)
{
    printf("%d arguments, environment %s\n", argc, getenv("SURROUNDINGS") ? getenv("SURROUNDINGS") : "none");
    for (int i = 1; i < argc; i++)
        printf("[%s]\n", argv[i]);
    printf("page %ld, random %d, file %s\n", (long)getauxval(AT_PAGESZ), getauxval(AT_RANDOM) != 0,
           strrchr((char *)getauxval(AT_EXECFN), '/') + 1);
    char line[4096];
    ssize_t length = readlink("/proc/self/exe", line, sizeof line - 1);
    line[length > 0 ? length : 0] = 0;
    printf("exe %s\n", strrchr(line, '/') + 1);
    int file = open("/proc/self/cmdline", O_RDONLY);
    length = read(file, line, sizeof line - 1);
    for (ssize_t i = 0; i + 1 < length; i++)
        line[i] = line[i] ? line[i] : ' ';
    line[length > 0 ? length : 0] = 0;
    printf("command %s\n", strrchr(line, '/') ? strrchr(line, '/') + 1 : line);
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    printf("files %d\n", open("/dev/null", O_RDONLY));
    struct timespec before, after, real;
    struct timeval day;
    clock_gettime(CLOCK_MONOTONIC, &before);
    for (int i = 0; i < 100000; i++)
        clock_gettime(CLOCK_MONOTONIC, &after);
    long passed = (after.tv_sec - before.tv_sec) * 1000000000 + after.tv_nsec - before.tv_nsec;
    printf("time passes %d\n", passed > 0 && passed < 60000000000);
    clock_gettime(CLOCK_REALTIME, &real);
    gettimeofday(&day, NULL);
    printf("days agree %d\n", labs(real.tv_sec - day.tv_sec) <= 1 && labs(day.tv_sec - time(NULL)) <= 1);
    struct timespec direct;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &direct);
    clock_gettime(CLOCK_MONOTONIC, &after);
    printf("vdso and call agree %d\n", labs(after.tv_sec - direct.tv_sec) <= 1);
    unsigned cpu, node;
    getcpu(&cpu, &node);
    printf("cpu %d\n", cpu < 4096);
    uint64_t ticks = __rdtsc();
    printf("ticks %d\n", __rdtsc() >= ticks);
    segments();
    void *top = sbrk(0);
    sbrk(1 << 20);
    memset(top, 1, 1 << 20);
    printf("brk %d\n", (char *)sbrk(0) - (char *)top == 1 << 20);
    char *big = mmap(NULL, 1ul << 36, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    big[1ul << 35] = 7;
    printf("big %d\n", big[1ul << 35]);
    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *to = mremap(page, 4096, 1 << 20, MREMAP_MAYMOVE);
    to[(1 << 20) - 1] = 9;
    printf("mremap %d\n", to[(1 << 20) - 1]);
    char vector[256] = {0};
    printf("mincore %d\n", mincore(to, 1 << 20, (unsigned char *)vector));
    printf("closed %d\n", close(1000) < 0 && errno == EBADF);
    for (int i = 3; i < 1024; i++)
        close(i);
    printf("all files closed\n");
    return 0;
}
