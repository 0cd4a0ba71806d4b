/* objects DIRECTORY: loads and unloads shared objects in turn, whose code
 * comes to lie at the same places. a.so, b.so: `int value(int)`. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    long sum = 0;
    for (int i = 0; i < 100; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s.so", argc > 1 ? argv[1] : ".", i % 3 ? "a" : "b");
        void *object = dlopen(path, i % 2 ? RTLD_NOW : RTLD_LAZY);
        if (!object) {
            printf("%s\n", dlerror());
            return 1;
        }
        int (*value)(int) = (int (*)(int))dlsym(object, "value");
        for (int k = 0; k < 10; k++)
            sum = sum * 7 % 1000003 + value(k);
        dlclose(object);
    }
    printf("sum %ld\n", sum);
    return 0;
}
