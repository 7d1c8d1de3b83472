package peer;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;

/** The threads of this program, by the names that the commands give them. */
final class Threads {
    private record Named(ExecutorService queue, Thread[] thread) {}

    private final Map<String, Named> threads = new ConcurrentHashMap<>();

    void run(String name, Runnable task) {
        threads.computeIfAbsent(name, Threads::make).queue().execute(task);
    }

    /** Interrupts what the thread is doing; Redisson's interruptible waits end then. */
    void interrupt(String name) {
        threads.get(name).thread()[0].interrupt();
    }

    /** Whether the thread waits for a message: Redisson's waiters of locks sleep on a semaphore. */
    boolean sleeps(String name) {
        for (StackTraceElement frame : threads.get(name).thread()[0].getStackTrace()) {
            if (frame.getClassName().equals(Semaphore.class.getName())) {
                return true;
            }
        }
        return false;
    }

    private static Named make(String name) {
        Thread[] made = new Thread[1];
        ExecutorService queue = Executors.newSingleThreadExecutor(task -> {
            Thread thread = new Thread(task, name);
            thread.setDaemon(true); // a thread that waits for a lock does not keep the program alive
            made[0] = thread;
            return thread;
        });
        return new Named(queue, made);
    }
}
