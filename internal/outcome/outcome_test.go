package outcome_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/outcome"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/internal/test/servers"
)

type reply string

func (r reply) Error() string { return string(r) }
func (reply) RedisError()     {}

func TestEveryErrorHasItsClass(t *testing.T) {
	const (
		sha     = "f_2e7bd2f1bb4f6ab5a3c3d4f0b0d0c4a8a2f2c3d1"
		wrapped = "ERR Error running script (call to " + sha + "): @user_script:3: @user_script: 3: -"
		younger = " script: 2e7bd2f1, on @user_script:3."
	)
	for _, test := range []struct {
		err  error
		want outcome.Class
	}{
		{nil, outcome.Done},
		{redis.Nil, outcome.Unknown},
		{redis.ErrNoScript, outcome.NoScript},
		{reply("NOSCRIPT No matching script."), outcome.NoScript},
		{reply("MOVED 3999 127.0.0.1:6381"), outcome.Moved},
		{reply("ASK 3999 127.0.0.1:6381"), outcome.Moved},
		{reply("READONLY You can't write against a read only replica."), outcome.Moved},
		{reply("READONLY You can't write against a read only replica." + younger), outcome.Moved},
		{reply(wrapped + "READONLY You can't write against a read only replica."), outcome.Moved},
		{reply("CLUSTERDOWN The cluster is down"), outcome.NotYet},
		{reply("CLUSTERDOWN Hash slot not served"), outcome.NotYet},
		{reply("TRYAGAIN Multiple keys request during rehashing of slot"), outcome.NotYet},
		{reply("LOADING Redis is loading the dataset in memory"), outcome.NotYet},
		{reply("MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."), outcome.NotYet},
		{reply(wrapped + "MASTERDOWN Link with MASTER is down"), outcome.NotYet},
		{reply("NOREPLICAS Not enough good replicas to write."), outcome.NotYet},
		{reply(wrapped + "NOREPLICAS Not enough good replicas to write."), outcome.NotYet},
		{reply("BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."), outcome.NotYet},
		{reply("ERR max number of clients reached"), outcome.Full},
		{reply("BUSYGROUP Consumer Group name already exists"), outcome.Unknown},
		{reply("BUSYKEY Target key name already exists."), outcome.Unknown},
		{reply("WRONGTYPE Operation against a key holding the wrong kind of value"), outcome.Hopeless},
		{reply("WRONGTYPE Operation against a key holding the wrong kind of value" + younger), outcome.Hopeless},
		{reply(wrapped + "WRONGTYPE Operation against a key holding the wrong kind of value"), outcome.Hopeless},
		{reply("OOM command not allowed when used memory > 'maxmemory'."), outcome.Hopeless},
		{reply(wrapped + "OOM command not allowed when used memory > 'maxmemory'."), outcome.Hopeless},
		{reply("NOPERM User default has no permissions to run the 'evalsha' command"), outcome.Hopeless},
		{reply("NOAUTH Authentication required."), outcome.Hopeless},
		{reply("WRONGPASS invalid username-password pair or user is disabled."), outcome.Hopeless},
		{reply("ERR unknown command 'evalsha'"), outcome.Hopeless},
		{reply("ERR Unknown subcommand or wrong number of arguments for 'shardnumsub'. Try PUBSUB HELP."), outcome.Hopeless},
		{reply("MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk."), outcome.Hopeless},
		{reply("MISCONF Redis is configured to save RDB snapshots" + younger), outcome.Hopeless},
		{reply(wrapped + "MISCONF Errors writing to the AOF file: No space left on device"), outcome.Hopeless},
		{reply("ERR Protocol error: unauthenticated multibulk length"), outcome.Hopeless},
		{reply("ERR value is not an integer or out of range" + younger), outcome.Hopeless},
		{reply("ERR k holds something that is not a number of permits; remove it or use another name"), outcome.Hopeless},

		// A script that was under way. What it had done until then stays done.
		{reply("ERR The user executing the script can't run this command or subcommand" + younger), outcome.Cut},
		{reply("NOPERM User app has no permissions to run the 'hset' command" + younger), outcome.Cut},
		{reply("ERR Error running script (call to " + sha + "): @user_script:3: @user_script: 3: The user executing the script can't run this command or subcommand"), outcome.Cut},
		{reply("ERR Unknown Redis command called from script" + younger), outcome.Cut},
		{reply("ERR Script attempted to access a non local key in a cluster node" + younger), outcome.Cut},
		{reply("ERR user_script:3: attempt to index a nil value" + younger), outcome.Cut},
		{reply("ERR The user executing the script can't run this command or subcommand"), outcome.Cut}, // as a script answers it
		{reply("ERR nothing was changed: ERR The user executing the script can't run this command or subcommand" + younger), outcome.Hopeless},
		{reply("ERR nothing was changed: READONLY You can't write against a read only replica." + younger), outcome.Moved},
		{reply("ERR Error running script (call to " + sha + "): @user_script:3: nothing was changed: @user_script: 3: -NOREPLICAS Not enough good replicas to write."), outcome.NotYet},

		// The words of others: of proxies, which have sent the command on and lost the reply, perhaps.
		{reply("upstream failure"), outcome.Unknown},
		{reply("ERR Operation timed out"), outcome.Unknown},
		{reply("ERR Connection timed out"), outcome.Unknown},
		{reply("ERR proxy error"), outcome.Unknown},
		{reply("no upstream host"), outcome.Unknown},
		{reply("PROXYDOWN try another"), outcome.Unknown},
		{reply("MOVEDAWAY"), outcome.Unknown},
		{reply(""), outcome.Unknown},
		{fmt.Errorf("failed to initialize connection options: %w", reply("ERR proxy error")), outcome.Hopeless}, // nothing was sent behind it
		{redis.ErrCrossSlot, outcome.Hopeless},
		{redis.ErrClosed, outcome.Hopeless},
		{redis.ErrPoolTimeout, outcome.Full},
		{redis.ErrPoolExhausted, outcome.Full},
		{&net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}, outcome.NotYet},
		{&net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host"}}, outcome.NotYet},
		{&net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("socket", syscall.EMFILE)}, outcome.Full},
		{&net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("socket", syscall.ENFILE)}, outcome.Full},
		{&net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}, outcome.Unknown},
		{&net.OpError{Op: "read", Net: "tcp", Err: os.ErrDeadlineExceeded}, outcome.Unknown},
		{&net.OpError{Op: "write", Net: "tcp", Err: syscall.EPIPE}, outcome.Unknown},
		{io.EOF, outcome.Unknown},
		{io.ErrUnexpectedEOF, outcome.Unknown},
		{net.ErrClosed, outcome.Unknown},
		{context.Canceled, outcome.Unknown},
		{context.DeadlineExceeded, outcome.Unknown},
		{errors.New("a hook's own"), outcome.Unknown},
		{&outcome.Unsent{Err: io.EOF}, outcome.NotYet},
		{&outcome.Unsent{Err: redis.ErrClosed}, outcome.Hopeless},
		{&outcome.Unsent{Err: reply("NOAUTH Authentication required.")}, outcome.Hopeless},
		{&outcome.Unsent{Err: reply("CLUSTERDOWN The cluster is down")}, outcome.NotYet},
	} {
		require.Equal(t, test.want, outcome.Of(test.err), "%v", test.err)
		if test.err != nil {
			require.Equal(t, test.want, outcome.Of(fmt.Errorf("through a hook: %w", test.err)), "wrapped: %v", test.err)
		}
	}
}

func TestWhatNoRepetitionChangesIsFinal(t *testing.T) {
	const wrapped = "ERR Error running script (call to f_2e7bd2f1): @user_script:3: @user_script: 3: -"
	for _, test := range []struct {
		err                         error
		final, wrongType, crossSlot bool
	}{
		{err: nil},
		{err: redis.ErrClosed, final: true},
		{err: reply("WRONGTYPE Operation against a key holding the wrong kind of value"), final: true, wrongType: true},
		{err: reply(wrapped + "WRONGTYPE Operation against a key holding the wrong kind of value"), final: true, wrongType: true},
		{err: redis.ErrCrossSlot, final: true, crossSlot: true},
		{err: reply("CROSSSLOT Keys in request don't hash to the same slot"), final: true, crossSlot: true},
		{err: reply("ERR value is not an integer or out of range"), final: true},
		{err: reply("ERR k holds something that is not a number of permits; remove it or use another name"), final: true},
		{err: reply("ERR increment or decrement would overflow"), final: true},
		{err: reply("ERR unknown command 'evalsha'"), final: true},
		{err: reply("ERR Unknown command 'evalsha'"), final: true},
		{err: reply("REDLATCH-STALE operation 7 was given up, its lane is at 9"), final: true},
		{err: reply("OOM command not allowed when used memory > 'maxmemory'.")},
		{err: reply("NOPERM User default has no permissions to run the 'evalsha' command")},
		{err: reply("NOAUTH Authentication required.")},
		{err: errors.New("WRONGTYPE CROSSSLOT in somebody else's words")},
	} {
		errs := []error{test.err}
		if test.err != nil {
			errs = append(errs, fmt.Errorf("through a hook: %w", test.err))
		}
		for _, err := range errs {
			require.Equal(t, test.final, outcome.Final(err), "%v", err)
			require.Equal(t, test.wrongType, outcome.WrongType(err), "%v", err)
			require.Equal(t, test.crossSlot, outcome.CrossSlot(err), "%v", err)
		}
	}
}

// A server says what it found, not what to do about it.
func TestAnErrorAboutAKeyThatHoldsSomethingElseSaysWhatToDo(t *testing.T) {
	for text, advised := range map[string]bool{
		"WRONGTYPE Operation against a key holding the wrong kind of value":                    true,
		"ERR value is not an integer or out of range script: e8f6, on @user_script:36.":        true,
		"ERR hash value is not an integer":                                                     true,
		"WRONGTYPE the key is a lock of another kind, not a read-write lock; use another name": false,
		"ERR k holds something that is not an integer; remove it or use another name":          false,
		"ERR increment or decrement would overflow":                                            false,
		"OOM command not allowed when used memory > 'maxmemory'.":                              false,
	} {
		err := fmt.Errorf("through a hook: %w", reply(text))
		got := outcome.Advise(err)
		require.ErrorIs(t, got, err)
		require.Equal(t, advised, got != err, "%v", got)
		require.Equal(t, advised || strings.Contains(text, "another name"), strings.Contains(got.Error(), "use another name"), "%v", got)
	}
	require.NoError(t, outcome.Advise(nil))
}

// once is a command that the client does not send again.
type once struct{ *redis.Cmd }

func (once) NoRetry() bool { return true }

func run(client redis.UniversalClient, args ...any) error {
	return client.Process(context.Background(), once{redis.NewCmd(context.Background(), args...)})
}

// The rest are the same errors as the client library really returns them.

func TestRefusedConnectionsAreNotYetExecuted(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	client := redis.NewClient(&redis.Options{Addr: l.Addr().String(), DialerRetries: 1})
	defer func() { _ = client.Close() }()
	require.Equal(t, outcome.NotYet, outcome.Of(run(client, "incr", "k")))
}

func TestAClosedClientIsHopeless(t *testing.T) {
	srv := redistest.Mini(t)
	client := srv.Client(t)
	require.NoError(t, client.Close())
	require.Equal(t, outcome.Hopeless, outcome.Of(run(client, "incr", "k")))
	cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{srv.Addr}})
	require.NoError(t, cluster.Close())
	require.Equal(t, outcome.Hopeless, outcome.Of(run(cluster, "incr", "k")))
}

func TestAPoolWithoutAFreeConnectionIsNotYetExecuted(t *testing.T) {
	client := redistest.Mini(t).Client(t, func(o *redis.Options) { o.PoolSize, o.PoolTimeout = 1, time.Millisecond })
	conn := client.Conn()
	defer func() { _ = conn.Close() }()
	require.NoError(t, conn.Ping(context.Background()).Err()) // it has the only connection now
	require.Equal(t, outcome.Full, outcome.Of(run(client, "incr", "k")))
}

func TestAServerWithTheWrongCertificateIsHopeless(t *testing.T) {
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	client := redis.NewClient(&redis.Options{
		Addr: server.Listener.Addr().String(), TLSConfig: &tls.Config{RootCAs: x509.NewCertPool()}, DialerRetries: 1,
	})
	defer func() { _ = client.Close() }()
	require.Equal(t, outcome.Hopeless, outcome.Of(run(client, "incr", "k")))
}

// silent accepts connections and treats them as end says, after they have asked for something.
func silent(t *testing.T, end func(net.Conn)) *redis.Client {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = conn.Read(make([]byte, 1024))
				end(conn)
			}()
		}
	}()
	t.Cleanup(func() { _ = l.Close() })
	client := redis.NewClient(&redis.Options{Addr: l.Addr().String(), ReadTimeout: 50 * time.Millisecond, Protocol: 2, DisableIdentity: true})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func TestARequestWithoutAReplyIsUnknown(t *testing.T) {
	stop := make(chan struct{})
	defer close(stop)
	for name, end := range map[string]func(net.Conn){
		"read time-out":   func(c net.Conn) { <-stop; _ = c.Close() },
		"end of file":     func(c net.Conn) { _ = c.Close() },
		"reset":           func(c net.Conn) { _ = c.(*net.TCPConn).SetLinger(0); _ = c.Close() },
		"half of a reply": func(c net.Conn) { _, _ = c.Write([]byte(":4")); _ = c.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, outcome.Unknown, outcome.Of(run(silent(t, end), "incr", "k")))
		})
	}
}

func TestAServersErrorsAsTheyComeThroughTheClient(t *testing.T) {
	srv := redistest.Mini(t)
	client := srv.Client(t)
	require.NoError(t, client.Ping(context.Background()).Err())
	for text, want := range map[string]outcome.Class{
		"LOADING Redis is loading the dataset in memory":        outcome.NotYet,
		"READONLY You can't write against a read only replica.": outcome.Moved,
		"MOVED 3999 127.0.0.1:6381":                             outcome.Moved,
		"OOM command not allowed":                               outcome.Hopeless,
		"NOAUTH Authentication required.":                       outcome.Hopeless,
		"ERR max number of clients reached":                     outcome.Full,
	} {
		srv.Mini.SetError(text)
		require.Equal(t, want, outcome.Of(run(client, "incr", "k")), text)
	}
	srv.Mini.SetError("")
	require.Equal(t, outcome.Done, outcome.Of(run(client, "incr", "k")))
}

func TestARealServersErrors(t *testing.T) {
	srv := redistest.Process(t)
	client := srv.Client(t)
	ctx := context.Background()
	set := func(name, value string) { require.NoError(t, client.ConfigSet(ctx, name, value).Err()) }
	require.Equal(t, outcome.NoScript, outcome.Of(run(client, "evalsha", "0123456789012345678901234567890123456789", 0)))

	require.NoError(t, client.Set(ctx, "text", "x", 0).Err())
	wrongType := run(client, "eval", "return redis.call('hget', KEYS[1], 'f')", 1, "text")
	require.Equal(t, srv.Has(t, servers.CodesInScripts), redis.HasErrorPrefix(wrongType, "WRONGTYPE"), "%v", wrongType)
	require.True(t, outcome.WrongType(wrongType), "%v", wrongType)
	require.True(t, outcome.Wrong(wrongType), "%v", wrongType)
	require.Equal(t, outcome.Hopeless, outcome.Of(wrongType))

	write := func() error { return run(client, "eval", "return redis.call('set', KEYS[1], '1')", 1, "k") }
	set("maxmemory", "1")
	require.Equal(t, outcome.Hopeless, outcome.Of(write()))
	set("maxmemory", "0")

	want := outcome.Done
	if srv.Has(t, servers.ReplicasForScripts) {
		want = outcome.NotYet
	}
	set("min-replicas-to-write", "1")
	require.Equal(t, want, outcome.Of(write()))
	set("min-replicas-to-write", "0")

	require.NoError(t, client.Do(ctx, "acl", "setuser", "reader", "on", ">secret", "~*", "+get").Err())
	reader := srv.Client(t, func(o *redis.Options) { o.Username, o.Password, o.DisableIdentity = "reader", "secret", true })
	require.Equal(t, outcome.Hopeless, outcome.Of(run(reader, "set", "k", "v")))
	stranger := srv.Client(t, func(o *redis.Options) { o.Username, o.Password = "reader", "wrong" })
	require.Equal(t, outcome.Hopeless, outcome.Of(run(stranger, "get", "k")))

	require.NoError(t, client.Do(ctx, "replicaof", "127.0.0.1", "1").Err())
	require.Equal(t, outcome.Moved, outcome.Of(write()))
	set("replica-serve-stale-data", "no")
	require.Equal(t, outcome.NotYet, outcome.Of(run(client, "get", "k")))
}
