// patterns NAME: three ways to go through memory as C++ has them.
//
//   nodes    64 structures of 8 KiB in a vector, in one set, twenty times
//   columns  a class's matrix of 256 rows of 2 KiB, by columns
//   chase    a std::list of 16,384 nodes, three times
//
// stdout: sum SUM.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <vector>

namespace {

struct Node {
    long value;
    char rest[8192 - sizeof(long)];
};

// At multiples of 8 KiB.
template <typename T> struct Aligned {
    using value_type = T;
    Aligned() = default;
    template <typename U> Aligned(const Aligned<U> &) {}
    T *allocate(std::size_t count)
    {
        void *memory = nullptr;
        if (posix_memalign(&memory, 8192, sizeof(T) * count) != 0)
            std::abort();
        return static_cast<T *>(memory);
    }
    void deallocate(T *memory, std::size_t) { std::free(memory); }
    template <typename U> bool operator==(const Aligned<U> &) const { return true; }
    template <typename U> bool operator!=(const Aligned<U> &) const { return false; }
};

class Matrix {
  public:
    explicit Matrix(long side) : side(side), numbers(side * side, 1.0) {}
    double at(long row, long column) const { return numbers[row * side + column]; }
    __attribute__((noinline)) double add_up() const
    {
        __asm__ volatile("" ::: "memory");
        double sum = 0;
        for (long column = 0; column < side; column++)
            for (long row = 0; row < side; row++)
                sum += at(row, column);
        return sum;
    }

  private:
    long side;
    std::vector<double, Aligned<double>> numbers;
};

__attribute__((noinline)) long add_up(const std::vector<Node, Aligned<Node>> &nodes)
{
    __asm__ volatile("" ::: "memory");
    long sum = 0;
    for (const Node &node : nodes)
        sum += node.value;
    return sum;
}

__attribute__((noinline)) long add_up(const std::list<long> &nodes)
{
    __asm__ volatile("" ::: "memory");
    long sum = 0;
    for (long node : nodes)
        sum += node;
    return sum;
}

} // namespace

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    long sum = 0;
    if (!std::strcmp(name, "nodes")) {
        std::vector<Node, Aligned<Node>> nodes(64, Node{1, {}});
        for (int round = 0; round < 20; round++)
            sum += add_up(nodes);
    } else if (!std::strcmp(name, "columns")) {
        sum = static_cast<long>(Matrix(256).add_up());
    } else if (!std::strcmp(name, "chase")) {
        std::list<long> nodes(16384, 1);
        for (int round = 0; round < 3; round++)
            sum += add_up(nodes);
    } else {
        return 2;
    }
    std::printf("sum %ld\n", sum);
    return 0;
}
