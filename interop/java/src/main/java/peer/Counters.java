package peer;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RCountDownLatch;
import org.redisson.api.RExpirable;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RSemaphore;

/** What can be done with semaphores and latches. */
final class Counters {
    private Counters() {}

    @SuppressWarnings("deprecation") // what replaces it is younger than the oldest version that this runs with
    static Object run(String op, RSemaphore semaphore, Command command) throws InterruptedException {
        int n = command.permits();
        switch (op) {
            case "acquire" -> {
                semaphore.acquire(n);
                return null;
            }
            case "tryAcquire" -> {
                return command.has("wait") ? semaphore.tryAcquire(n, command.number("wait", 0), TimeUnit.MILLISECONDS)
                        : semaphore.tryAcquire(n);
            }
            case "release" -> {
                semaphore.release(n);
                return null;
            }
            case "releaseIfExists" -> {
                return semaphore.releaseIfExists(n);
            }
            case "trySetPermits" -> {
                return semaphore.trySetPermits(n);
            }
            case "addPermits" -> {
                semaphore.addPermits(n);
                return null;
            }
            case "drainPermits" -> {
                return semaphore.drainPermits();
            }
            case "availablePermits" -> {
                return semaphore.availablePermits();
            }
            default -> {
                return lifetime(op, semaphore, command);
            }
        }
    }

    private interface Taking {
        Object one() throws InterruptedException;
    }

    /** Versions before 3.23.4 take and give back permits one by one. */
    private static List<String> oneByOne(int n, Taking taking) throws InterruptedException {
        List<String> ids = new ArrayList<>();
        for (int i = 0; i < n; i++) {
            Object id = taking.one();
            if (id == null) {
                return ids;
            }
            ids.add(id.toString());
        }
        return ids;
    }

    static Object run(String op, RPermitExpirableSemaphore semaphore, Command command) throws InterruptedException {
        int n = command.permits();
        List<String> ids = command.texts("ids");
        switch (op) {
            case "acquire" -> {
                try {
                    return semaphore.acquire(n, command.lease(), TimeUnit.MILLISECONDS);
                } catch (NoSuchMethodError older) {
                    return oneByOne(n, () -> semaphore.acquire(command.lease(), TimeUnit.MILLISECONDS));
                }
            }
            case "tryAcquire" -> {
                long wait = command.number("wait", 0);
                try {
                    return semaphore.tryAcquire(n, wait, command.lease(), TimeUnit.MILLISECONDS);
                } catch (NoSuchMethodError older) {
                    return oneByOne(n, () -> semaphore.tryAcquire(wait, command.lease(), TimeUnit.MILLISECONDS));
                }
            }
            case "release" -> { // one and several are different scripts
                if (ids.size() == 1) {
                    semaphore.release(ids.get(0));
                    return null;
                }
                try {
                    semaphore.release(ids);
                } catch (NoSuchMethodError older) {
                    ids.forEach(semaphore::release);
                }
                return null;
            }
            case "tryRelease" -> {
                return ids.size() == 1 ? semaphore.tryRelease(ids.get(0)) : semaphore.tryRelease(ids) == ids.size();
            }
            case "trySetPermits" -> {
                return semaphore.trySetPermits(n);
            }
            case "setPermits" -> {
                semaphore.setPermits(n);
                return null;
            }
            case "addPermits" -> {
                semaphore.addPermits(n);
                return null;
            }
            case "availablePermits" -> {
                return semaphore.availablePermits();
            }
            case "acquiredPermits" -> {
                return semaphore.acquiredPermits();
            }
            case "getPermits" -> {
                return semaphore.getPermits();
            }
            case "updateLeaseTime" -> {
                return semaphore.updateLeaseTime(ids.get(0), command.lease(), TimeUnit.MILLISECONDS);
            }
            case "getLeaseTime" -> {
                return semaphore.getLeaseTime(ids.get(0));
            }
            default -> {
                return lifetime(op, semaphore, command);
            }
        }
    }

    private static Object lifetime(String op, RExpirable object, Command command) {
        return switch (op) {
            case "expire" -> object.expire(Duration.ofMillis(command.number("lease", 0)));
            case "clearExpire" -> object.clearExpire();
            case "delete" -> object.delete();
            default -> throw new IllegalArgumentException("unknown operation " + op + " of a semaphore");
        };
    }

    static Object run(String op, RCountDownLatch latch, Command command) throws InterruptedException {
        switch (op) {
            case "await" -> {
                if (command.has("wait")) {
                    return latch.await(command.number("wait", 0), TimeUnit.MILLISECONDS);
                }
                latch.await();
                return true;
            }
            case "countDown" -> {
                latch.countDown();
                return null;
            }
            case "getCount" -> {
                return latch.getCount();
            }
            case "trySetCount" -> {
                return latch.trySetCount(command.number("n", 1));
            }
            case "delete" -> {
                return latch.delete();
            }
            default -> throw new IllegalArgumentException("unknown operation " + op + " of a latch");
        }
    }
}
