package peer;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Stream;
import org.redisson.api.RedissonClient;

/** Reads commands, has them carried out, and answers. */
public final class Peer {
    private final Clients clients = new Clients();
    private final Threads threads = new Threads();
    private final PrintStream out;

    private Peer(PrintStream out) {
        this.out = out;
    }

    public static void main(String[] args) throws IOException {
        PrintStream out = System.out;
        System.setOut(System.err); // whatever a library prints must not stand between the answers
        Peer peer = new Peer(out);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            peer.take(new Command(Json.read(line)));
        }
        Runtime.getRuntime().halt(0); // at once: what is held is left to its lease, as when a process dies
    }

    private void take(Command command) {
        if (command.text("op").equals("interrupt")) { // the thread it names is busy
            answer(command, () -> {
                threads.interrupt(command.text("thread"));
                return null;
            });
            return;
        }
        if (command.text("op").equals("sleeps")) { // so is this one
            answer(command, () -> threads.sleeps(command.text("thread")));
            return;
        }
        threads.run(command.text("thread", "main"), () -> answer(command, () -> run(command)));
    }

    private interface Work {
        Object run() throws Exception;
    }

    private void answer(Command command, Work work) {
        Map<String, Object> reply = new LinkedHashMap<>();
        reply.put("id", command.number("id", 0));
        long start = System.nanoTime();
        try {
            reply.put("result", work.run());
        } catch (Throwable failure) { // every one is an answer, errors of the virtual machine too
            Thread.interrupted();
            reply.put("error", describe(failure));
        }
        reply.put("millis", (System.nanoTime() - start) / 1e6);
        synchronized (out) {
            out.println(Json.write(reply));
            out.flush();
        }
    }

    /** The exception and what caused it: Redisson wraps some of its own. */
    private static String describe(Throwable failure) {
        String text = failure.toString();
        for (Throwable cause = failure.getCause(); cause != null; cause = cause.getCause()) {
            text += "; caused by " + cause;
        }
        return text;
    }

    private Object run(Command command) throws Exception {
        String op = command.text("op");
        switch (op) {
            case "open" -> {
                return clients.open(command);
            }
            case "close" -> {
                clients.close(command.text("client"));
                return null;
            }
            case "enter" -> {
                clients.enter(command.text("client"), command.text("program"), command.text("label"));
                return null;
            }
            case "methods" -> {
                return Stream.of(Class.forName(command.text("name")).getDeclaredMethods()).map(Method::getName).distinct().toList();
            }
            case "storm" -> {
                return new Storm(clients.get(command.text("client")), command).run();
            }
            case "bench" -> {
                return new Bench(clients.get(command.text("client")), command).run();
            }
            default -> {
                return use(op, command);
            }
        }
    }

    private Object use(String op, Command command) throws InterruptedException {
        RedissonClient client = clients.get(command.text("client"));
        long thread = Thread.currentThread().getId();
        if (op.equals("owner")) {
            return client.getId() + ":" + thread;
        }
        return switch (command.text("kind")) {
            case "semaphore" -> Counters.run(op, client.getSemaphore(command.text("name")), command);
            case "permits" -> Counters.run(op, client.getPermitExpirableSemaphore(command.text("name")), command);
            case "latch" -> Counters.run(op, client.getCountDownLatch(command.text("name")), command);
            default -> Locks.run(op, Locks.find(clients, command), command, thread);
        };
    }
}
