package peer;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.Writer;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;
import org.redisson.client.RedisException;

/**
 * Takes and gives back objects as fast as they are given, on several threads, and tells a witness of each grant: who
 * asks, who is in, who leaves. The witness is an independent program; when it says stop, the storm is over.
 */
final class Storm {
    private final RedissonClient client;
    private final Command command;
    private final AtomicLong granted = new AtomicLong();
    private final AtomicLong refused = new AtomicLong();
    private final AtomicLong gone = new AtomicLong();
    private final AtomicLong failures = new AtomicLong();

    Storm(RedissonClient client, Command command) {
        this.client = client;
        this.command = command;
    }

    Map<String, Object> run() throws Exception {
        int workers = Math.toIntExact(command.number("threads", 4));
        ExecutorService pool = Executors.newFixedThreadPool(workers);
        try {
            List<Future<Void>> all = pool.invokeAll(Collections.nCopies(workers, (Callable<Void>) this::work));
            for (Future<Void> one : all) {
                one.get();
            }
        } finally {
            pool.shutdownNow();
        }
        return Map.of("granted", granted.get(), "refused", refused.get(), "gone", gone.get(), "failures", failures.get());
    }

    /** What was taken: the witness is told of mode and token, and back is how it is given back. */
    private record Taken(String mode, long token, Runnable back) {}

    private Void work() throws Exception {
        Random dice = new Random();
        List<Command> objects = command.objects("objects");
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), Math.toIntExact(command.number("witness", 0)))) {
            socket.setTcpNoDelay(true);
            Writer out = new OutputStreamWriter(socket.getOutputStream(), StandardCharsets.UTF_8);
            BufferedReader in = new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
            String answer = say(out, in, "hello " + command.text("process"));
            while (!answer.equals("stop")) {
                Command object = objects.get(dice.nextInt(objects.size()));
                say(out, in, "ask " + object.text("name"));
                Taken taken = null;
                try {
                    taken = take(object, dice);
                } catch (RedisException failed) { // no answer in time, as after a long sleep of this process
                    failures.incrementAndGet();
                }
                if (taken == null) {
                    refused.incrementAndGet();
                    answer = say(out, in, "refused");
                    continue;
                }
                granted.incrementAndGet();
                say(out, in, "enter " + taken.mode() + " " + taken.token());
                if (dice.nextInt(4) == 0) {
                    Thread.sleep(dice.nextInt(3));
                }
                answer = say(out, in, "exit");
                try {
                    taken.back().run();
                } catch (IllegalMonitorStateException | RedisException lost) { // while this process stood still
                    gone.incrementAndGet();
                }
                Thread.sleep(dice.nextInt(60)); // as the other side does: a storm is long, not fast
            }
            return null;
        }
    }

    private static String say(Writer out, BufferedReader in, String line) throws IOException {
        out.write(line + "\n");
        out.flush();
        String answer = in.readLine();
        return answer == null ? "stop" : answer;
    }

    private Taken take(Command object, Random dice) throws InterruptedException {
        long wait = command.number("wait", 3000);
        String kind = object.text("kind");
        switch (kind) {
            case "semaphore" -> {
                RSemaphore semaphore = client.getSemaphore(object.text("name"));
                return semaphore.tryAcquire(1, Duration.ofMillis(wait)) ? new Taken("permit", 0, semaphore::release) : null;
            }
            case "permits" -> {
                RPermitExpirableSemaphore permits = client.getPermitExpirableSemaphore(object.text("name"));
                String id = permits.tryAcquire(wait, command.number("lease", 0), TimeUnit.MILLISECONDS);
                return id == null ? null : new Taken("permit", 0, () -> permits.release(id));
            }
            case "fenced" -> {
                RFencedLock lock = client.getFencedLock(object.text("name"));
                Long token = lock.tryLockAndGetToken(wait, TimeUnit.MILLISECONDS);
                return token == null ? null : new Taken("alone", token, lock::unlock);
            }
            default -> {
                RLock lock = Locks.find(client, side(object, dice));
                if (!lock.tryLock(wait, -1, TimeUnit.MILLISECONDS)) {
                    return null;
                }
                return new Taken(lock.getClass().getSimpleName().contains("Read") ? "shared" : "alone", 0, lock::unlock);
            }
        }
    }

    /** A read-write lock is read three times of four. */
    private static Command side(Command object, Random dice) {
        if (!object.text("kind").equals("rw")) {
            return object;
        }
        return new Command(Map.of("kind", dice.nextInt(4) == 0 ? "write" : "read", "name", object.text("name")));
    }
}
