/* Accesses of known type in C++: bases, virtual calls, several bases, references,
 * containers and pointers of the library, templates, closures. */
#include "typed.h"
#include <array>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <unordered_map>
#include <vector>

struct Shape {
    virtual ~Shape() = default;
    virtual double area() const = 0;
    long serial = 0;
};
struct Coloured { int red = 1, green = 2; };
struct Circle : Shape, Coloured {
    double radius = 1;
    double area() const override { return radius * radius + serial; }
};
struct Box : Coloured, Shape {
    double width = 1, height = 2;
    double area() const override { return width * height + green; }
};
struct Leaf { std::unique_ptr<Leaf> left, right; long load = 0; };
struct Record { int year; double price; std::array<short, 4> marks; };
template <class T> struct Pair { T first_of, second_of; };
using Couple = Pair<long>;

static volatile double sink;

NOINLINE double areas(const std::vector<std::unique_ptr<Shape>> &shapes) {
    double sum = 0;
    for (const auto &shape : shapes) sum += shape->area() + shape->serial;
    return sum;
}

NOINLINE double records(std::vector<Record> &all) {
    double sum = 0;
    for (auto &record : all) {
        sum += record.price * record.year;
        record.marks[record.year & 3] += 1;
    }
    return sum;
}

NOINLINE long couples(const Couple *at, size_t count) {
    auto add = [](long sum, const Couple &couple) { return sum + couple.first_of * couple.second_of; };
    return std::accumulate(at, at + count, 0L, add);
}

NOINLINE void plant(std::unique_ptr<Leaf> &at, long load) {
    if (!at) {
        at = std::make_unique<Leaf>();
        at->load = load;
        OBJECT(Leaf, at.get(), sizeof(Leaf));
        return;
    }
    plant(load < at->load ? at->left : at->right, load);
}

NOINLINE long weigh(const Leaf *at) {
    return at ? at->load + weigh(at->left.get()) + weigh(at->right.get()) : 0;
}

NOINLINE double look(const std::map<int, Record> &map, const std::unordered_map<int, Record> &hashed) {
    double sum = 0;
    for (int i = 0; i < 100; i++) {
        auto found = map.find(i * 3);
        if (found != map.end()) sum += found->second.price;
        auto other = hashed.find(i * 5);
        if (other != hashed.end()) sum += other->second.year;
    }
    return sum;
}

NOINLINE int colours(const Coloured &a, const Coloured &b) { return a.red * b.green + a.green; }

int main() {
#define AT(type, name) \
    ({ type it; printf("member %s %td %zu %s\n", #type, (char *)&it.name - (char *)&it, sizeof it.name, #name); })
    TYPE(Circle), TYPE(Box), TYPE(Leaf), TYPE(Record), TYPE(Couple);
    AT(Circle, serial), AT(Circle, red), AT(Circle, green), AT(Circle, radius);
    AT(Box, serial), AT(Box, red), AT(Box, green), AT(Box, width), AT(Box, height);
    AT(Leaf, left), AT(Leaf, right), AT(Leaf, load);
    AT(Record, year), AT(Record, price), AT(Record, marks);
    AT(Couple, first_of), AT(Couple, second_of);
    std::vector<std::unique_ptr<Shape>> shapes;
    for (int i = 0; i < 100; i++) {
        if (i % 2) {
            auto made = std::make_unique<Circle>();
            OBJECT(Circle, made.get(), sizeof(Circle));
            shapes.push_back(std::move(made));
        } else {
            auto made = std::make_unique<Box>();
            OBJECT(Box, made.get(), sizeof(Box));
            shapes.push_back(std::move(made));
        }
        shapes.back()->serial = i;
    }
    std::vector<Record> all(300, Record{3, 2.5, {}});
    OBJECT(Record, all.data(), all.size() * sizeof(Record));
    auto couple = std::make_unique<Couple[]>(200);
    OBJECT(Couple, couple.get(), 200 * sizeof(Couple));
    for (int i = 0; i < 200; i++) couple[i] = Couple{i, 2 * i};
    std::unique_ptr<Leaf> root;
    for (long i = 0; i < 200; i++) plant(root, i * 37 % 200);
    std::map<int, Record> map;
    std::unordered_map<int, Record> hashed;
    for (int i = 0; i < 100; i++) {
        map[i] = hashed[i] = Record{i, 1.5, {}};
        OBJECT(Record, &map[i], sizeof(Record)), OBJECT(Record, &hashed[i], sizeof(Record));
    }
    Circle circle;
    Box box;
    OBJECT(Circle, &circle, sizeof circle), OBJECT(Box, &box, sizeof box);
    for (int round = 0; round < 3; round++) {
        sink = sink + areas(shapes) + records(all) + couples(couple.get(), 200) + weigh(root.get());
        sink = sink + look(map, hashed) + colours(circle, box) + box.area() + circle.area();
    }
}
