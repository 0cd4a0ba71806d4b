/* waits: system calls that signals interrupt, restart or answer; timers;
 * broken pipes. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t alarms, pipes;
static int ends[2];

static void on_alarm(int signal)
{
    (void)signal;
    alarms++;
}

static void on_late(int signal)
{
    (void)signal;
    if (++alarms == 3 && write(ends[1], "x", 1) != 1)
        _exit(1);
}

static void on_pipe(int signal)
{
    (void)signal;
    pipes++;
}

static void on_thread(union sigval value)
{
    __atomic_fetch_add((int *)value.sival_ptr, 1, __ATOMIC_SEQ_CST);
}

static void action(int signal, void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigaction(signal, &action, NULL);
}

static void once(long microseconds)
{
    struct itimerval when = {.it_value = {.tv_usec = microseconds}};
    setitimer(ITIMER_REAL, &when, NULL);
}

/* One that comes before the call is followed by others. */
static void often(long microseconds)
{
    struct itimerval when = {{0, microseconds}, {0, microseconds}};
    setitimer(ITIMER_REAL, &when, NULL);
}

static volatile int enough;

static void *sender(void *thread)
{
    while (!enough) {
        usleep(3000);
        pthread_kill(*(pthread_t *)thread, SIGUSR1);
    }
    return NULL;
}

int main(void)
{
    setvbuf(stdout, NULL, _IONBF, 0);
    /* nanosleep ends early and tells the rest. */
    action(SIGALRM, on_alarm, 0);
    often(20000);
    struct timespec hour = {3600, 0}, rest = {0, 0};
    int result = nanosleep(&hour, &rest);
    printf("nanosleep %d errno %d rest %d alarms %d\n", result, errno == EINTR, rest.tv_sec > 3500, alarms > 0);
    /* A read ends early, or is begun again. */
    if (pipe(ends))
        return 1;
    char byte = 0;
    ssize_t got = read(ends[0], &byte, 1);
    printf("read %zd errno %d alarms %d\n", got, errno == EINTR, alarms > 1);
    often(0);
    alarms = 0;
    action(SIGALRM, on_late, SA_RESTART);
    often(5000);
    got = read(ends[0], &byte, 1);
    often(0);
    printf("restarted read %zd byte %c alarms %d\n", got, byte, alarms >= 3);
    /* poll is never begun again; sigsuspend, sigwaitinfo, signalfd. */
    struct pollfd wait = {.fd = ends[0], .events = POLLIN};
    alarms = 0;
    action(SIGALRM, on_alarm, SA_RESTART);
    often(10000);
    result = poll(&wait, 1, 10000);
    often(0);
    printf("poll %d errno %d\n", result, errno == EINTR);
    sigset_t set, old;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    sigprocmask(SIG_BLOCK, &set, &old);
    once(10000);
    alarms = 0;
    result = sigsuspend(&old);
    printf("sigsuspend %d errno %d alarms %d\n", result, errno == EINTR, alarms);
    once(10000);
    siginfo_t info;
    printf("sigwaitinfo %d\n", sigwaitinfo(&set, &info));
    int file = signalfd(-1, &set, 0);
    once(10000);
    struct signalfd_siginfo told;
    got = read(file, &told, sizeof told);
    printf("signalfd %d %u\n", got == sizeof told, told.ssi_signo);
    sigprocmask(SIG_SETMASK, &old, NULL);
    /* Timers. */
    int ticks = 0;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = on_thread};
    event.sigev_value.sival_ptr = &ticks;
    timer_t timer;
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    struct itimerspec every = {{0, 2000000}, {0, 2000000}};
    timer_settime(timer, 0, &every, NULL);
    while (__atomic_load_n(&ticks, __ATOMIC_SEQ_CST) < 5)
        usleep(1000);
    timer_delete(timer);
    printf("timer's threads ran\n");
    int clock = timerfd_create(CLOCK_MONOTONIC, 0);
    timerfd_settime(clock, 0, &every, NULL);
    unsigned long long expired = 0;
    got = read(clock, &expired, sizeof expired);
    printf("timerfd %zd %d\n", got, expired > 0);
    /* Signals sent to a thread that sleeps. */
    pthread_t self = pthread_self(), thread;
    alarms = 0;
    action(SIGUSR1, on_alarm, SA_RESTART);
    pthread_create(&thread, NULL, sender, &self);
    while (alarms < 5) {
        struct timespec long_time = {100, 0};
        nanosleep(&long_time, NULL);
    }
    enough = 1;
    pthread_join(thread, NULL);
    printf("sent to a thread\n");
    /* Broken pipes. */
    action(SIGPIPE, on_pipe, 0);
    int broken[2];
    if (pipe(broken))
        return 1;
    close(broken[0]);
    got = write(broken[1], "x", 1);
    printf("write %zd errno %d signals %d\n", got, errno == EPIPE, pipes);
    pid_t child = fork();
    if (!child) {
        signal(SIGPIPE, SIG_DFL);
        got = write(broken[1], "x", 1);
        _exit(1);
    }
    int status;
    waitpid(child, &status, 0);
    printf("child ended by %d\n", WIFSIGNALED(status) ? WTERMSIG(status) : -1);
    /* Processor time. */
    action(SIGPROF, on_alarm, SA_RESTART);
    alarms = 0;
    struct itimerval profile = {{0, 1000}, {0, 1000}};
    setitimer(ITIMER_PROF, &profile, NULL);
    volatile unsigned long spin = 0;
    while (alarms < 5)
        spin++;
    printf("profiling timer ran\n");
    return 0;
}
