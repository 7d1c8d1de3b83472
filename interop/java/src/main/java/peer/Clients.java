package peer;

import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.net.UnknownHostException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.redisson.Redisson;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.BaseConfig;
import org.redisson.config.BaseMasterSlaveServersConfig;
import org.redisson.config.Config;
import org.redisson.config.ReadMode;
import org.redisson.config.ShardedSubscriptionMode;

/** The Redisson clients of this program, by the names that the commands give them. */
final class Clients {
    private final Map<String, RedissonClient> clients = new ConcurrentHashMap<>();
    private final Map<String, RegistryEntry> entries = new ConcurrentHashMap<>();

    RedissonClient get(String name) {
        RedissonClient client = clients.get(name);
        if (client == null) {
            throw new IllegalArgumentException("no client " + name + " is open");
        }
        return client;
    }

    /** Opens a client with Redisson's defaults but for what the command says, and returns its uuid. */
    String open(Command command) {
        Config config = new Config();
        config.setThreads(4).setNettyThreads(4); // the defaults are made for larger machines than those of tests
        if (command.text("codec", "").equals("string")) {
            config.setCodec(StringCodec.INSTANCE);
        }
        if (command.has("watchdog")) {
            config.setLockWatchdogTimeout(command.number("watchdog", 0));
        }
        String[] addresses = command.texts("addresses").toArray(String[]::new);
        BaseConfig<?> servers = switch (command.text("mode", "single")) {
            case "single" -> config.useSingleServer().setAddress(addresses[0])
                    .setConnectionMinimumIdleSize(2).setConnectionPoolSize(32).setSubscriptionConnectionMinimumIdleSize(1);
            case "cluster" -> config.useClusterServers().addNodeAddress(addresses)
                    .setShardedSubscriptionMode(ShardedSubscriptionMode.valueOf(command.text("sharded", "AUTO")));
            case "sentinel" -> config.useSentinelServers().addSentinelAddress(addresses)
                    .setMasterName(command.text("master"));
            default -> throw new IllegalArgumentException("unknown mode " + command.text("mode"));
        };
        if (servers instanceof BaseMasterSlaveServersConfig<?> nodes) {
            nodes.setMasterConnectionMinimumIdleSize(2).setSlaveConnectionMinimumIdleSize(2)
                    .setSubscriptionConnectionMinimumIdleSize(1).setReadMode(ReadMode.MASTER);
        }
        if (command.has("prefix")) {
            map(servers, command.text("prefix"));
        }
        RedissonClient client = Redisson.create(config);
        clients.put(command.text("client"), client);
        return client.getId();
    }

    /** Has a client keep an entry of the registry from now on. */
    void enter(String name, String program, String label) throws UnknownHostException {
        entries.put(name, new RegistryEntry(get(name), program, label));
    }

    void close(String name) {
        RegistryEntry entry = entries.remove(name);
        if (entry != null) {
            entry.close();
        }
        clients.remove(name).shutdown();
    }

    /** Has all names of a client begin with a prefix. The interface for that was in another package before 4.0. */
    private static void map(BaseConfig<?> servers, String prefix) {
        for (Method method : BaseConfig.class.getMethods()) {
            if (method.getName().equals("setNameMapper")) {
                Class<?> mapper = method.getParameterTypes()[0];
                Object made = Proxy.newProxyInstance(mapper.getClassLoader(), new Class<?>[] {mapper}, (self, called, args) ->
                        switch (called.getName()) {
                            case "map" -> prefix + args[0];
                            case "unmap" -> ((String) args[0]).substring(prefix.length());
                            default -> called.invoke(prefix, args);
                        });
                try {
                    method.invoke(servers, made);
                } catch (ReflectiveOperationException failed) {
                    throw new IllegalStateException(failed);
                }
            }
        }
    }
}
