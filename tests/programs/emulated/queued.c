/* queued: a thread sends another one thousands of signals that each carry a
 * number; none is lost, none out of order, each names its sender. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum { SIGNALS = 3000 };

static volatile int next, wrong;
static volatile char bytes[1 << 20];
static pthread_t first;

static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)number, (void)context;
    if (info->si_code != SI_QUEUE || info->si_pid != getpid() || info->si_value.sival_int != next)
        wrong++;
    next++;
}

static void *sender(void *none)
{
    for (int i = 0; i < SIGNALS; i++) {
        union sigval value = {.sival_int = i};
        while (pthread_sigqueue(first, SIGRTMIN + 3, value) == EAGAIN)
            usleep(1000);
        if (i % 16 == 0)
            usleep(500);
    }
    return none;
}

int main(void)
{
    first = pthread_self();
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigaction(SIGRTMIN + 3, &action, NULL);
    pthread_t thread;
    pthread_create(&thread, NULL, sender, NULL);
    /* At least so much work, however fast they come. */
    for (int round = 0; round < 20 || next < SIGNALS; round++)
        for (int at = 0; at < 1 << 20; at += 64)
            bytes[at]++;
    pthread_join(thread, NULL);
    printf("signals %d wrong %d\n", next, wrong);
    return 3;
}
