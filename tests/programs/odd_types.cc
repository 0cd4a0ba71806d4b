/* Classes of every odd kind, to compare layouts with pahole's. */
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

struct Empty { };
struct Base { virtual ~Base() {} int id; char tag; };
struct Left : virtual Base { long left; };
struct Right : virtual Base { char right; };
struct Both : Left, Right { int both; static int counted; };
class Tail : public Base { char after; public: short more; int Tail::*pointer; void (Tail::*call)(int); };
struct Compact : Empty { int value; };
template <typename T, int N> struct Buffer { char state; T items[N]; struct Mark { T at; bool set; } mark; union { T one; char raw[sizeof(T) + 3]; }; };
namespace { struct Hidden { char a; double b; }; }
namespace inner { class Node; class Node { Node *next; public: int &ref; const std::string &name; Node(int &r, const std::string &n) : next(nullptr), ref(r), name(n) {} std::string &&moved(); }; }
enum class Kind : uint8_t { A, B = 200 };
struct Nested { struct Deep; Deep *deep; Kind kind; struct { int x, y; } place; union { float f; int i; }; };
struct Nested::Deep { char c; long l; Kind kinds[3]; };
class Flags { unsigned a : 3; unsigned b : 7; Kind kind : 8; bool c : 1; long rest : 40; public: void set() { a = 1; } };
struct Lambda { template <class F> static auto of(F f) { return f; } };
struct Multi : Tail, Compact { long end; };
int Both::counted = 0;

Both both; Tail tail; Compact compact; Buffer<double, 5> doubles; Buffer<char, 3> chars;
Hidden hidden; Nested nested; Flags flags; Multi multi; Nested::Deep deep;

int main()
{
    int number = 0;
    std::string name = "a";
    inner::Node node(number, name);
    std::map<std::string, std::vector<int>> all;
    std::unique_ptr<Both> owned(new Both);
    all["a"].push_back(number);
    auto closure = [&number, name](int x) { return number + x + int(name.size()); };
    std::printf("%d %zu\n", closure(1) + owned->both, sizeof(node) + all.size());
}
