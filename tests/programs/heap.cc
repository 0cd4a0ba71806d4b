// Blocks of C++: new of every kind, and containers, whose lines are those that use them.
#include <map>
#include <memory>
#include <new>
#include <string>
#include <vector>
#include "heap.h"

struct alignas(128) wide { char bytes[256]; };

static void of_new() {
    char *one = new char;
    written(one, 1, __LINE__ - 1, 3);
    long *many = new long[50];
    written(many, 400, __LINE__ - 1, 4);
    wide *aligned = new wide;
    written(aligned, sizeof *aligned, __LINE__ - 1, 5);
    int *quiet = new (std::nothrow) int[9];
    written(quiet, 36, __LINE__ - 1, 6);
    auto owned = std::make_unique<long[]>(70);
    written(owned.get(), 560, __LINE__ - 1, 7);
    delete one;
    delete[] many;
    delete aligned;
    delete[] quiet;
}

static void of_containers() {
    std::vector<long> list;
    for (long at = 0; at < 1000; at++) {
        list.push_back(at);
        if (at % 100 == 99) written(list.data(), list.size() * sizeof(long), __LINE__ - 1, 8);
    }
    std::map<int, long> tree;
    for (int at = 0; at < 50; at++) {
        long *value = &tree[at];
        written(value, sizeof *value, __LINE__ - 1, 2);
    }
    std::string text(300, 'x');
    written(text.data(), 300, __LINE__ - 1, 9);
}

int main() {
    begin();
    for (int round = 0; round < 3; round++) {
        of_new();
        of_containers();
    }
    tell("heap.cc");
}
