// Fifty goroutines that compute, send, allocate, lock, sleep and panic.
package main

import (
	"fmt"
	"runtime"
	"sort"
	"strings"
	"sync"
	"time"
)

func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

func deep(n int) int {
	var room [64]int
	room[n%64] = n
	if n == 0 {
		return room[0]
	}
	return deep(n-1) + room[n%64]
}

func guarded(n int) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	var p *int
	if n%2 == 0 {
		return fmt.Errorf("%d", *p)
	}
	return fmt.Errorf("%d", []int{1}[n])
}

func main() {
	results := make(chan string)
	var wg sync.WaitGroup
	var lock sync.Mutex
	total := 0
	for i := 0; i < 50; i++ {
		wg.Add(1)
		go func(i int) {
			defer wg.Done()
			m := map[string]int{}
			for k := 0; k < 2000; k++ {
				m[strings.Repeat("x", k%50)] += k
			}
			time.Sleep(time.Duration(i%5) * time.Millisecond)
			lock.Lock()
			total += len(m)
			lock.Unlock()
			results <- fmt.Sprintf("%d %d %d %v", i, fib(15+i%5), deep(1000*(i%7)), guarded(i))
		}(i)
	}
	go func() { wg.Wait(); close(results) }()
	var all []string
	for r := range results {
		all = append(all, r)
	}
	sort.Strings(all)
	for n := 0; n < 3; n++ {
		runtime.GC()
	}
	stop := make(chan bool)
	go func() { for { select { case <-stop: return; default: } } }() // preempted by signal
	time.Sleep(20 * time.Millisecond)
	close(stop)
	fmt.Println(strings.Join(all, "\n"), total)
}
