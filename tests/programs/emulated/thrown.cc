// thrown: exceptions through many frames, out of threads and of signal
// handlers' callers, with destructors, caught and thrown again.
#include <cstdio>
#include <exception>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <regex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static thread_local int destroyed;

struct Counted {
    ~Counted() { ++destroyed; }
};

static int dive(int depth, int kind)
{
    Counted counted;
    if (depth == 0) {
        switch (kind % 3) {
        case 0: throw std::runtime_error("runtime");
        case 1: throw std::out_of_range("range");
        default: throw kind;
        }
    }
    try {
        return dive(depth - 1, kind) + 1;
    } catch (const std::out_of_range &) {
        throw;
    } catch (int n) {
        throw n + 1;
    }
}

static long work(int seed)
{
    long sum = 0;
    for (int i = 0; i < 200; i++) {
        try {
            dive(i % 20, i + seed);
        } catch (const std::out_of_range &error) {
            sum += error.what()[0];
        } catch (const std::exception &error) {
            sum += error.what()[1] * 2;
        } catch (int n) {
            sum += n;
        }
    }
    return sum * 1000 + destroyed;
}

int main()
{
    std::vector<std::thread> threads;
    std::mutex lock;
    std::map<int, long> results;
    for (int i = 0; i < 8; i++)
        threads.emplace_back([i, &lock, &results] {
            long result = work(i);
            std::lock_guard<std::mutex> guard(lock);
            results[i] = result;
        });
    for (auto &thread : threads)
        thread.join();
    for (auto &[number, result] : results)
        std::printf("%d %ld\n", number, result);
    auto future = std::async(std::launch::async, []() -> int { throw std::logic_error("from a task"); });
    try {
        future.get();
    } catch (const std::logic_error &error) {
        std::printf("%s\n", error.what());
    }
    std::regex word("([a-z]+)([0-9]*)");
    std::string text = "alpha1 beta22 gamma";
    for (std::sregex_iterator it(text.begin(), text.end(), word), end; it != end; ++it)
        std::printf("%s|%s\n", (*it)[1].str().c_str(), (*it)[2].str().c_str());
    try {
        std::regex bad("(");
    } catch (const std::regex_error &) {
        std::printf("bad pattern\n");
    }
    std::function<void()> last = [] { throw 1; };
    std::set_terminate([] {
        std::printf("terminated\n");
        std::fflush(stdout);
        std::_Exit(3);
    });
    last();
}
