package peer;

import java.util.concurrent.TimeUnit;
import org.redisson.api.RCountDownLatch;
import org.redisson.api.RLock;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;

/** The Java code of docs/migrating.md, here so that it compiles; a test compares the page with this file. */
final class Migrating {
    private Migrating() {}

    static void pay(RedissonClient redisson, Runnable charge) {
        RLock lock = redisson.getLock("orders:42");
        lock.lock();
        try {
            charge.run();
        } finally {
            lock.unlock();
        }
    }

    static boolean payWithin(RedissonClient redisson, Runnable charge) throws InterruptedException {
        RLock lock = redisson.getLock("orders:42");
        if (!lock.tryLock(2, 60, TimeUnit.SECONDS)) {
            return false;
        }
        try {
            charge.run();
            return true;
        } finally {
            lock.unlock();
        }
    }

    static void crawl(RedissonClient redisson, Runnable fetch) throws InterruptedException {
        RSemaphore pool = redisson.getSemaphore("crawler");
        pool.trySetPermits(8);
        pool.acquire();
        try {
            fetch.run();
        } finally {
            pool.release();
        }
    }

    static boolean awaitImports(RedissonClient redisson) throws InterruptedException {
        RCountDownLatch imports = redisson.getCountDownLatch("import:7");
        return imports.await(1, TimeUnit.MINUTES);
    }
}
