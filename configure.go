package redlatch

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/listing"
	"github.com/redlatch/redlatch/internal/session"
)

// Every client is in the registry, unless the program says otherwise.
func init() { session.NewListing = listing.New }

// A ClientOption says something that counts for all primitives of one client. It is for [Configure], and not
// for New.
type ClientOption interface {
	setting() (session.Setting, error)
}

// A clientOption is a ClientOption as the functions of this file make it.
type clientOption struct {
	says session.Setting
	err  error // why it makes no sense
}

func (o clientOption) setting() (session.Setting, error) { return o.says, o.err }

// Configure says how redlatch uses a client. Call it where the client is made, or later, but before the first
// command that redlatch sends by the client; whether primitives have been made by then makes no difference.
// It does no I/O, and lasts for as long as the client does.
//
// A client has one value of each option. Configure with the same values again is nil, so several packages of
// a program may call it. One with another value, or after the first command, is ErrInvalid, which names the
// places of both calls, and nothing of the call counts. A client that is a wrapper has a configuration of its
// own, beside the one of the client in it.
func Configure(client Client, opts ...ClientOption) error {
	var all []session.Setting
	for _, o := range opts {
		if o == nil {
			continue
		}
		s, err := o.setting()
		if err != nil {
			return err
		}
		all = append(all, s)
	}
	place := "an unknown place"
	if _, file, line, ok := runtime.Caller(1); ok {
		place = fmt.Sprintf("%s:%d", file, line)
	}
	return session.Configure(client, place, all...)
}

// WithCluster says that the client is a cluster client although its type does not show it, as a wrapper may
// be.
func WithCluster() ClientOption { return clientOption{says: session.Cluster{}} }

// WithShardedPubSub says whether messages on a cluster use SPUBLISH. By default the server is asked, as
// Redisson does; all processes must use the same.
func WithShardedPubSub(on bool) ClientOption { return clientOption{says: session.Sharding(on)} }

// WithLinger sets how long the connection for wake-ups, and the goroutines that the primitives of one client
// share, stay after their last use. The default is 3 s: the next wait then starts without a subscription.
func WithLinger(d time.Duration) ClientOption {
	if d < 0 {
		return clientOption{err: errs.Wrong("WithLinger(%v): zero or more", d)}
	}
	return clientOption{says: session.Linger(d)}
}

// WithLabel has the registry show a text of the program's with what the client holds and waits for: the name
// of a service, a region, a version. At most 64 bytes of it are kept, and control characters are replaced.
// The default is none.
//
// While a client has held or waited for anything for more than a second, it keeps an entry in Redis: the
// host, the process, the base name of the program, the label, versions, and what it holds and waits for.
// Tools that list locks learn from it who a holder is. Nothing else depends on it.
func WithLabel(text string) ClientOption { return clientOption{says: session.Label(text)} }

// WithRegistry has the keys of the registry begin with prefix, for tenants of one Redis that may not see each
// other. Tools have to be told the same prefix. The default is none.
func WithRegistry(prefix string) ClientOption {
	if strings.ContainsAny(prefix, "{}") {
		return clientOption{err: errs.Wrong("WithRegistry(%q): a prefix has no braces, for those that follow it spread "+
			"the keys over the servers of a cluster", prefix)}
	}
	return clientOption{says: session.Registry{Prefix: prefix}}
}

// WithoutRegistry keeps the client out of the registry that WithLabel describes: it writes no entry, and
// tools show its identity alone. The environment variable REDLATCH_REGISTRY=off does so for a whole process,
// whatever the options say.
func WithoutRegistry() ClientOption { return clientOption{says: session.Registry{Off: true}} }
