package connect

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/exit"
	"github.com/redlatch/redlatch/fleet"
	"github.com/redlatch/redlatch/internal/listing"
	"github.com/redlatch/redlatch/internal/session"
	"github.com/redlatch/redlatch/internal/settings"
)

const defaultURL = "redis://127.0.0.1:6379"

// oneAttempt is how often the client of a command dials; the library's default is five times. A command that
// waits asks again by itself, and a command that only looks has to say soon that the server does not answer.
const oneAttempt = 1

// Open makes a client and sends nothing.
func (f Flags) Open() (redis.UniversalClient, error) {
	client, err := f.open()
	if err != nil {
		return nil, exit.With(exit.Usage, err)
	}
	return client, nil
}

// Announce has the client of a command be in the registry from the moment on at which it holds or waits for something: what runs for less
// than a second would have no name there.
func Announce(client redis.UniversalClient) {
	set := settings.Defaults()
	listing.Of(session.Of(client, &set)).AtOnce()
}

// Leave has the registry say that the command has ended and leaves what it holds to its lease. It comes before that is given back.
func Leave(client redis.UniversalClient) {
	set := settings.Defaults()
	listing.Of(session.Of(client, &set)).Leave()
}

// Close closes the client of a command that ends, and takes it out of the registry: tools would show an ended command as one that is
// probably dead.
func Close(client redis.UniversalClient) {
	set := settings.Defaults()
	listing.Of(session.Of(client, &set)).Retire()
	_ = client.Close()
}

func (f Flags) open() (redis.UniversalClient, error) {
	t, err := parse(cmp.Or(f.URL, defaultURL))
	if err != nil {
		return nil, err
	}
	password, err := f.password()
	if err != nil {
		return nil, err
	}
	config, err := f.tls(t)
	if err != nil {
		return nil, err
	}
	switch {
	case t.cluster != nil:
		o := t.cluster
		o.DialerRetries = cmp.Or(o.DialerRetries, oneAttempt)
		o.Password, o.TLSConfig = cmp.Or(password, o.Password), config
		o.OnConnect = unlessPassword(o.Password, o.Username)
		return redis.NewClusterClient(o), nil
	case t.sentinel != nil:
		o := t.sentinel
		o.DialerRetries = cmp.Or(o.DialerRetries, oneAttempt)
		o.Password, o.TLSConfig = cmp.Or(password, o.Password), config
		o.OnConnect = unlessPassword(o.Password, o.Username)
		return redis.NewFailoverClient(o), nil
	default:
		o := t.single
		o.DialerRetries = cmp.Or(o.DialerRetries, oneAttempt)
		o.Password, o.TLSConfig = cmp.Or(password, o.Password), config
		o.OnConnect = unlessPassword(o.Password, o.Username)
		return redis.NewClient(o), nil
	}
}

// unlessPassword has each connection be the user's where there is no password. The Redis client names the user with a password alone, and
// would be the default user without a word.
func unlessPassword(password, user string) func(context.Context, *redis.Conn) error {
	if user == "" || password != "" {
		return nil
	}
	return func(ctx context.Context, conn *redis.Conn) error { return conn.AuthACL(ctx, user, "").Err() }
}

// Where is the server as people may see it, without user and password.
func (f Flags) Where() string {
	t, err := parse(cmp.Or(f.URL, defaultURL))
	if err != nil {
		return "the server"
	}
	return strings.Join(t.addrs(), ",")
}

// password is that of the file or of the environment; empty leaves that of the URL.
func (f Flags) password() (string, error) {
	if f.PasswordFile == "" {
		return os.Getenv(PasswordVariable), nil
	}
	text, err := os.ReadFile(f.PasswordFile)
	if err != nil {
		return "", fmt.Errorf("--password-file: %w", err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	line = strings.TrimSuffix(line, "\r")
	if line == "" {
		return "", fmt.Errorf("--password-file: the first line of %s is empty", f.PasswordFile)
	}
	return line, nil
}

// Ping asks the server for a sign of life, and ends with ctx even if the client does not.
func Ping(ctx context.Context, client redis.UniversalClient) error {
	answer := make(chan error, 1)
	go func() { answer <- client.Ping(ctx).Err() }()
	var err error
	select {
	case err = <-answer:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	var refusal redis.Error
	switch {
	case err == nil, redis.IsAuthError(err), redis.IsPermissionError(err):
		return err
	case errors.As(err, &refusal) || !errors.Is(err, context.Canceled):
		return exit.With(exit.Unavailable, Explain(err))
	}
	return err
}

// UpToDate fails where the server is a replica: what it shows may be old, and nothing tells by how much. A server that does not say what it
// is counts as a master.
func UpToDate(ctx context.Context, client redis.UniversalClient) error {
	if fleet.CheckMaster(ctx, client) == nil {
		return nil
	}
	return exit.With(exit.Unavailable, errReplica)
}

// errReplica is in the words of Advice.
var errReplica = errors.New("what it shows may be old: " + adviceReplica)

// Explain adds to the error of a first command what is often the cause where the error alone does not say so: TLS on one side only.
func Explain(err error) error {
	switch {
	case unreached(err):
	case errors.Is(err, io.EOF):
		return fmt.Errorf("the server has closed the connection (%w); %s", err, adviceClosed)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("no answer (%w); %s", err, adviceSilent)
	}
	return err
}

// unreached tells whether a connection could not be made, so that nothing was said to the server.
func unreached(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial" && !op.Timeout()
}

const (
	adviceClosed = "if the server wants TLS, the URL begins with rediss://"
	adviceSilent = "see that it is a Redis server, and that it speaks TLS if the URL begins with rediss://"
)

const adviceReplica = "the server is a replica, so connect to its master, or by redis+sentinel:// or redis+cluster://, which find it"

// Advice returns a clause that says what to do about err. It knows the errors of a client that is connected
// to the wrong kind of server, or speaks TLS with one that does not, or the other way round. It is empty for
// any other error, and where the text says it.
func Advice(err error) string {
	text := err.Error()
	switch {
	case strings.Contains(text, "MOVED "):
		return "the server is a node of a cluster, so connect by redis+cluster://"
	case strings.Contains(text, "READONLY "):
		return adviceReplica
	case strings.Contains(text, "all sentinels") && errors.Is(err, redis.Nil):
		return "the sentinels know no master of that name; it stands behind the slash of redis+sentinel://host:port/master"
	case strings.Contains(text, "rediss://"), exit.Code(err) != exit.Unavailable, unreached(err):
		return ""
	case errors.Is(err, io.EOF):
		return adviceClosed
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return adviceSilent
	}
	return ""
}

func (f Flags) tls(t *target) (*tls.Config, error) {
	wanted := f.TLS || t.tls || f.TLSCA != "" || f.TLSCert != "" || f.TLSKey != "" || f.TLSName != "" || f.TLSInsecure
	if !wanted {
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: f.TLSName, InsecureSkipVerify: f.TLSInsecure || t.unverified}
	return config, f.certificates(config)
}
