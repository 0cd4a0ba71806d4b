/* marked: touches fresh pages in regions that it names with hardmeter.h:
 *   none 10; solve 20 + 5; solve/sweep 30; worker 40 (a thread that is made in
 *   region make); make 2; fork 3 + 6 (6 by a child, whose own region fork/child
 *   has 4); after exec none 7, again 8.
 * Only the weak functions of the header, so it runs without libhardmeter. */
#define _GNU_SOURCE
#include "hardmeter.h"
#include "pages.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static void *worker(void *unused)
{
    hardmeter_begin("worker");
    pages_touch(40);
    hardmeter_end("worker");
    return unused;
}

int main(int argc, char **argv)
{
    pages_map();
    if (argc > 1) {
        pages_touch(7);
        hardmeter_begin("again");
        pages_touch(8);
        hardmeter_end(NULL);
        return 0;
    }
    pages_touch(10);
    hardmeter_begin("solve");
    pages_touch(20);
    hardmeter_begin("sweep");
    pages_touch(30);
    hardmeter_end("sweep");
    pages_touch(5);
    hardmeter_end(NULL);

    hardmeter_begin("make");
    pthread_t thread;
    if (pthread_create(&thread, NULL, worker, NULL) || pthread_join(thread, NULL))
        return 1;
    pages_touch(2);
    hardmeter_end("make");

    hardmeter_begin("fork");
    pages_touch(3);
    pid_t child = fork();
    if (child == 0) {
        pages_touch(6);
        hardmeter_begin("child");
        pages_touch(4);
        _exit(0);
    }
    if (child < 0 || waitpid(child, NULL, 0) != child)
        return 1;
    /* Still in region fork. */
    execl(argv[0], argv[0], "again", NULL);
    perror("marked: exec");
    return 1;
}
