/* sampler thread|process [child]: samples its own page faults, one by one, by hardmeter.h: 20
 * pages before it is enabled, 30 in region outer, 40 in outer/inner by a
 * thread of its own, 10 while it is disabled, 50 once it is enabled again. `child`: a
 * child of fork(2) tries to use the sampler, too.
 *
 * stdout: sample IP ADDRESS REGIONS of each fault on those pages, then account
 * KERNEL DELIVERED LOST LOST-MARKS. */
#define _GNU_SOURCE
#include "hardmeter.h"
#include "pages.h"

#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *worker(void *unused)
{
    hardmeter_begin("outer");
    hardmeter_begin("inner");
    pages_touch(40);
    hardmeter_end(NULL);
    hardmeter_end(NULL);
    return unused;
}

static int failed(hardmeter_sampler *sampler, const char *what)
{
    fprintf(stderr, "sampler: %s: %s\n", what, hardmeter_error(sampler));
    return 1;
}

static int print(hardmeter_sampler *sampler)
{
    struct hardmeter_sample sample = {.size = sizeof sample};
    int found;
    while ((found = hardmeter_next(sampler, &sample)) == 1) {
        char *address = (char *)sample.address;
        if (sample.has_address && address >= PAGES_BASE &&
            address < PAGES_BASE + PAGES_MOST * PAGES_PAGE)
            printf("sample 0x%" PRIx64 " 0x%" PRIx64 " %s %s\n", sample.ip, sample.address,
                   sample.regions ? sample.regions : "-", sample.routine);
    }
    return found;
}

/* A child of fork(2) is refused, and leaves its parent's sampler alone: 0. */
static int try_child(hardmeter_sampler *sampler)
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        struct hardmeter_sample sample = {.size = sizeof sample};
        struct hardmeter_account account = {.size = sizeof account};
        int refused = hardmeter_next(sampler, &sample) == -1 && hardmeter_disable(sampler) == -1 &&
                      hardmeter_enable(sampler) == -1 && hardmeter_finish(sampler, &account) == -1;
        if (refused && strstr(hardmeter_error(sampler), "open another in the child")) {
            hardmeter_close(sampler);
            _exit(0);
        }
        _exit(1);
    }
    return pid < 0 || waitpid(pid, &status, 0) != pid ? 1 : status;
}

int main(int argc, char **argv)
{
    char error[400];
    struct hardmeter_settings settings = {.size = sizeof settings, .event = "page_fault",
                          .interval = 1};
    if (argc > 1 && strcmp(argv[1], "process") == 0)
        settings.tasks = HARDMETER_THIS_PROCESS;
    pages_map();
    hardmeter_sampler *sampler = hardmeter_open(&settings, error, sizeof error);
    if (!sampler) {
        fprintf(stderr, "sampler: %s\n", error);
        return 1;
    }
    pages_touch(20);
    if (hardmeter_enable(sampler))
        return failed(sampler, "enable");
    if (argc > 2 && strcmp(argv[2], "child") == 0 && try_child(sampler))
        return failed(sampler, "a child");
    hardmeter_begin("outer");
    pages_touch(30);
    hardmeter_end("outer");
    pthread_t thread;
    if (pthread_create(&thread, NULL, worker, NULL) || pthread_join(thread, NULL))
        return 1;
    if (hardmeter_disable(sampler))
        return failed(sampler, "disable");
    pages_touch(10);
    if (print(sampler))
        return failed(sampler, "next");
    if (hardmeter_enable(sampler))
        return failed(sampler, "enable again");
    pages_touch(50);
    struct hardmeter_account account = {.size = sizeof account};
    if (hardmeter_finish(sampler, &account))
        return failed(sampler, "finish");
    if (print(sampler))
        return failed(sampler, "next after the end");
    hardmeter_close(sampler);
    printf("account %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", account.kernel,
           account.delivered, account.lost, account.lost_marks);
    return 0;
}
