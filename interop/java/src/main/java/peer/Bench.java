package peer;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.redisson.api.RCountDownLatch;
import org.redisson.api.RLock;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;

/** Takes and gives back locks or permits as fast as they are given for a while, and says how often and after which waits. */
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
                Pair pair = pair(command.has("own") ? name + ":" + i : name);
                work.add(() -> call(pair, from, end, command.number("section", 0)));
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

    /** What a caller does again and again. Each has its own. */
    private interface Pair {
        void take() throws InterruptedException;

        void give();
    }

    private Pair pair(String name) {
        int permits = Math.toIntExact(command.number("permits", 1));
        switch (command.has("kind") ? command.text("kind") : "") {
            case "semaphore" -> {
                RSemaphore semaphore = client.getSemaphore(name);
                semaphore.trySetPermits(permits);
                return pair(semaphore::acquire, semaphore::release);
            }
            case "permits" -> {
                RPermitExpirableSemaphore semaphore = client.getPermitExpirableSemaphore(name);
                semaphore.trySetPermits(permits);
                String[] id = new String[1];
                return pair(() -> id[0] = semaphore.acquire(), () -> semaphore.release(id[0]));
            }
            case "latch" -> {
                RCountDownLatch latch = client.getCountDownLatch(name);
                return pair(() -> latch.trySetCount(1), latch::countDown);
            }
            default -> {
                RLock lock = command.has("kind") ? Locks.find(client, command) : client.getLock(name);
                return pair(lock::lockInterruptibly, lock::unlock);
            }
        }
    }

    private interface Taking {
        void run() throws InterruptedException;
    }

    private static Pair pair(Taking taking, Runnable giving) {
        return new Pair() {
            @Override
            public void take() throws InterruptedException {
                taking.run();
            }

            @Override
            public void give() {
                giving.run();
            }
        };
    }

    private static Caller call(Pair pair, long from, long end, long section) throws InterruptedException {
        long share = 0;
        long done = 0;
        List<Long> waits = new ArrayList<>();
        for (long begin = System.nanoTime(); begin - end < 0; ) {
            pair.take();
            waits.add(System.nanoTime() - begin);
            if (section > 0) {
                Thread.sleep(section);
            }
            pair.give();
            done++;
            begin = System.nanoTime();
            if (begin - from >= 0 && begin - end < 0) {
                share++;
            }
        }
        return new Caller(share, done, waits);
    }
}
