/** The Java machine: its own JIT, signals for null checks and safepoints, threads. */
import java.util.*;
import java.util.stream.*;
public class Sorted {
    public static void main(String[] a) throws Exception {
        long sum = IntStream.range(0, 2000000).parallel().mapToLong(i -> (long) i * i % 7).sum();
        Map<String, Integer> m = new TreeMap<>();
        for (int i = 0; i < 50000; i++) m.merge("k" + i % 997, i, Integer::sum);
        int caught = 0; Object o = null;
        for (int i = 0; i < 100000; i++) try { if (i % 1000 == 0) o.hashCode(); } catch (NullPointerException e) { caught++; }
        Thread[] t = new Thread[4]; long[] r = new long[4];
        for (int i = 0; i < 4; i++) { int k = i; t[i] = new Thread(() -> { for (int j = 0; j < 1000000; j++) r[k] += j ^ k; }); t[i].start(); }
        for (Thread x : t) x.join();
        System.gc();
        System.out.println(sum + " " + m.hashCode() + " " + caught + " " + Arrays.toString(r));
    }
}
