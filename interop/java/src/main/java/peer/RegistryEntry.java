package peer;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.List;
import java.util.UUID;
import org.redisson.api.RScript;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;

/** Says in Redis whose process is behind the uuid of a Redisson client, every five seconds until it is closed. */
public final class RegistryEntry implements AutoCloseable {
    private static final String INSTANCE = UUID.randomUUID().toString(); // of this process
    private static final String WRITE = """
            local time = redis.call('time')
            local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
            redis.call('zremrangebyscore', KEYS[1], '-inf', now)
            redis.call('zadd', KEYS[1], now + ARGV[2], ARGV[1])
            if redis.call('pttl', KEYS[1]) < tonumber(ARGV[2]) then
              redis.call('pexpire', KEYS[1], ARGV[2])
            end
            redis.call('hset', KEYS[2], 'seen', now, 'about', ARGV[3])
            redis.call('pexpire', KEYS[2], ARGV[2])
            """;
    private static final String REMOVE = "redis.call('zrem', KEYS[1], ARGV[1]) redis.call('del', KEYS[2])";

    private final RedissonClient redisson;
    private final List<Object> keys;
    private final long lasts; // longer than the lease of a holder that dies, so that it can still be named
    private final String about;
    private boolean closed;

    /** Label is by what the program wants to be told apart: a colour, a zone, a version. */
    public RegistryEntry(RedissonClient redisson, String program, String label) throws UnknownHostException {
        String bucket = String.format("{b%02d}", Integer.parseInt(redisson.getId().substring(0, 2), 16) % 64);
        long watchdog = redisson.getConfig().getLockWatchdogTimeout();
        this.redisson = redisson;
        keys = List.of("redlatch_clients:" + bucket, "redlatch_client:" + bucket + ":" + redisson.getId());
        lasts = Math.max(30_000, watchdog) + 600_000;
        about = String.format("{\"v\":1,\"host\":\"%s\",\"pid\":%d,\"program\":\"%s\",\"label\":\"%s\",\"instance\":\"%s\","
                + "\"language\":\"java\",\"library\":\"redisson %s\",\"runtime\":\"java %s\",\"timeout\":%d}",
                text(InetAddress.getLocalHost().getHostName()), ProcessHandle.current().pid(), text(program), text(label), INSTANCE,
                RedissonClient.class.getPackage().getImplementationVersion(), System.getProperty("java.version"), watchdog);
        Thread thread = new Thread(this::keep, "redlatch-registry");
        thread.setDaemon(true);
        thread.start();
    }

    /** A text has 64 bytes at most. What JSON would have to escape becomes a question mark. */
    private static String text(String text) {
        return text.substring(0, Math.min(text.length(), 64)).replaceAll("[^ -~]|[\"\\\\]", "?");
    }

    private synchronized void keep() {
        try {
            while (!closed) {
                run(WRITE, redisson.getId(), String.valueOf(lasts), about);
                wait(5_000);
            }
        } catch (InterruptedException ended) {
            // the entry ends by itself
        }
    }

    private void run(String script, Object... arguments) {
        try {
            redisson.getScript(StringCodec.INSTANCE).eval(RScript.Mode.READ_WRITE, script, RScript.ReturnType.VALUE, keys, arguments);
        } catch (RuntimeException refused) {
            // no lock depends on the entry, and the next one may be written
        }
    }

    /** To be called before the client is shut down: then the entry goes at once. */
    @Override
    public synchronized void close() {
        closed = true;
        notifyAll();
        run(REMOVE, redisson.getId());
    }
}
