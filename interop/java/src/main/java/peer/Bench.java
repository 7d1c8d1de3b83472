package peer;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/** Takes and gives back locks as fast as they are given for a while, and says how often and after which waits. */
final class Bench {
    private final RedissonClient client;
    private final Command command;

    Bench(RedissonClient client, Command command) {
        this.client = client;
        this.command = command;
    }

    /** Pairs that ended in time, all pairs, and the nanoseconds of each wait. */
    private record Caller(long share, long done, List<Long> waits) {}

    Map<String, Object> run() throws Exception {
        int callers = Math.toIntExact(command.number("threads", 1));
        String name = command.text("name");
        long length = command.number("millis", 100) * 1_000_000;
        List<Callable<Caller>> work = new ArrayList<>();
        ExecutorService pool = Executors.newFixedThreadPool(callers);
        try {
            long from = System.nanoTime() + command.number("ramp", 0) * 1_000_000; // before that they only run
            long end = from + length;
            for (int i = 0; i < callers; i++) {
                RLock lock = command.has("kind") ? Locks.find(client, command) : client.getLock(command.has("own") ? name + ":" + i : name);
                work.add(() -> call(lock, from, end, command.number("section", 0)));
            }
            long done = 0;
            List<Long> shares = new ArrayList<>();
            List<Long> waits = new ArrayList<>();
            for (Future<Caller> each : pool.invokeAll(work)) {
                Caller caller = each.get();
                shares.add(caller.share());
                waits.addAll(caller.waits());
                done += caller.done();
            }
            return Map.of("length", length, "shares", shares, "waits", waits, "done", done);
        } finally {
            pool.shutdownNow();
        }
    }

    private static Caller call(RLock lock, long from, long end, long section) throws InterruptedException {
        long share = 0;
        long done = 0;
        List<Long> waits = new ArrayList<>();
        for (long begin = System.nanoTime(); begin - end < 0; ) {
            lock.lockInterruptibly();
            waits.add(System.nanoTime() - begin);
            if (section > 0) {
                Thread.sleep(section);
            }
            lock.unlock();
            done++;
            begin = System.nanoTime();
            if (begin - from >= 0 && begin - end < 0) {
                share++;
            }
        }
        return new Caller(share, done, waits);
    }
}
