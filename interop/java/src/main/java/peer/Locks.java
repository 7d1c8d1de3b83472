package peer;

import java.util.ArrayList;
import java.util.concurrent.TimeUnit;
import org.redisson.RedissonRedLock;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/** What can be done with everything that is an RLock. */
final class Locks {
    private Locks() {}

    /** A RedLock is over the clients that the command names, each for a server of its own. */
    static RLock find(Clients clients, Command command) {
        if (!command.text("kind").equals("redlock")) {
            return find(clients.get(command.text("client")), command);
        }
        return redLock(command.texts("clients").stream()
                .map(name -> clients.get(name).getLock(command.text("name"))).toArray(RLock[]::new));
    }

    @SuppressWarnings("deprecation") // it is part of what is on the wire as long as Redisson has it
    private static RLock redLock(RLock[] members) {
        return new RedissonRedLock(members);
    }

    static RLock find(RedissonClient client, Command command) {
        String kind = command.text("kind");
        return switch (kind) {
            case "multi" -> client.getMultiLock(command.texts("names").stream().map(client::getLock).toArray(RLock[]::new));
            case "group" -> client.getMultiLock(command.text("name"), new ArrayList<Object>(command.texts("names")));
            default -> find(client, kind, command.text("name"));
        };
    }

    private static RLock find(RedissonClient client, String kind, String name) {
        return switch (kind) {
            case "lock" -> client.getLock(name);
            case "nonreentrant" -> client.getNonReentrantLock(name);
            case "fair" -> client.getFairLock(name);
            case "nonreentrantfair" -> client.getNonReentrantFairLock(name);
            case "spin" -> client.getSpinLock(name);
            case "fenced" -> client.getFencedLock(name);
            case "read" -> client.getReadWriteLock(name).readLock();
            case "write" -> client.getReadWriteLock(name).writeLock();
            default -> throw new IllegalArgumentException("unknown kind of lock " + kind);
        };
    }

    /** Waits without bound, or as long as "wait" says; without a wait asked for by tryLock, asks once. */
    static Object run(String op, RLock lock, Command command, long thread) throws InterruptedException {
        switch (op) {
            case "lock" -> {
                if (command.has("lease")) {
                    lock.lockInterruptibly(command.lease(), TimeUnit.MILLISECONDS);
                } else {
                    lock.lockInterruptibly();
                }
                return null;
            }
            case "tryLock" -> {
                if (!command.has("wait") && !command.has("lease")) {
                    return lock.tryLock();
                }
                return lock.tryLock(command.number("wait", 0), command.lease(), TimeUnit.MILLISECONDS);
            }
            case "lockAndGetToken" -> {
                return ((RFencedLock) lock).lockAndGetToken();
            }
            case "tryLockAndGetToken" -> {
                return ((RFencedLock) lock).tryLockAndGetToken(command.number("wait", 0), command.lease(), TimeUnit.MILLISECONDS);
            }
            case "token" -> {
                return ((RFencedLock) lock).getToken();
            }
            case "unlock" -> {
                lock.unlock();
                return null;
            }
            case "forceUnlock" -> {
                return lock.forceUnlock();
            }
            case "isLocked" -> {
                return lock.isLocked();
            }
            case "isHeld" -> {
                return lock.isHeldByThread(thread);
            }
            case "holdCount" -> {
                return lock.getHoldCount();
            }
            case "remainTimeToLive" -> {
                return lock.remainTimeToLive();
            }
            default -> throw new IllegalArgumentException("unknown operation " + op + " of a lock");
        }
    }
}
