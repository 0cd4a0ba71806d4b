/* Blocks that are given and given back at once, without a pause: by itself, by children, by
 * threads. It says `ready`, waits for a line, and says `done` when all is done. A program that
 * stands still is ended. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 15000, CHILDREN = 60, THREADS = 4 };

static void rounds(int count) {
    for (int round = 0; round < count; round++) {
        char *volatile block = malloc(16 + (size_t)(round % 100));
        if (!block) abort();
        *block = 1;
        free(block);
    }
}

static void *thread(void *unused) {
    rounds(ROUNDS);
    return unused;
}

int main(void) {
    char line[16];
    puts("ready");
    fflush(stdout);
    if (!fgets(line, sizeof line, stdin)) return 1;
    alarm(100);
    rounds(ROUNDS);
    for (int child = 0; child < CHILDREN; child++) {
        pid_t pid = fork();
        if (pid == 0) {
            rounds(ROUNDS / 10);
            _exit(0);
        }
        if (pid < 0 || waitpid(pid, 0, 0) != pid) return 1;
    }
    pthread_t threads[THREADS];
    for (int number = 0; number < THREADS; number++)
        if (pthread_create(&threads[number], 0, thread, 0)) return 1;
    for (int number = 0; number < THREADS; number++) pthread_join(threads[number], 0);
    puts("done");
    return 0;
}
