// The same as heap_pages.c of C++: new of every kind, and a container. Nothing is given back, so
// that each block has pages of its own.
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <new>
#include <vector>
#include <sys/prctl.h>

constexpr std::size_t page = 4096, large = 300 << 10;
static std::map<int, long> of_line;

__attribute__((noinline)) static void touch(void *block, std::size_t size, long &count) {
    auto first = (reinterpret_cast<std::uintptr_t>(block) + page) / page * page;
    for (auto at = first; at < reinterpret_cast<std::uintptr_t>(block) + size; at += page) {
        *reinterpret_cast<volatile char *>(at) = 1;
        count++;
    }
}

static void touched(void *block, int line) { touch(block, large, of_line[line]); }

int main() {
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    for (int round = 0; round < 3; round++) {
        char *many = new char[large];
        touched(many, __LINE__ - 1);
        void *aligned = ::operator new(large, std::align_val_t(128));
        touched(aligned, __LINE__ - 1);
        char *quiet = new (std::nothrow) char[large];
        touched(quiet, __LINE__ - 1);
        auto *list = new std::vector<char>;
        list->reserve(large);
        touched(list->data(), __LINE__ - 1);
    }
    for (auto [line, count] : of_line) std::printf("heap_pages.cc:%d %ld\n", line, count);
}
