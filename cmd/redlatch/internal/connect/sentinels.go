package connect

import (
	"cmp"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/exit"
)

// Sentinels makes a client of each sentinel that the URL names, and says how these call the master. Without sentinels there is
// neither. The clients send nothing, give up soon, and are the caller's to close.
func (f Flags) Sentinels() (master string, clients []*redis.SentinelClient, err error) {
	t, err := parse(cmp.Or(f.URL, defaultURL))
	if err != nil {
		return "", nil, exit.With(exit.Usage, err)
	}
	if t.sentinel == nil {
		return "", nil, nil
	}
	config, err := f.tls(t)
	if err != nil {
		return "", nil, exit.With(exit.Usage, err)
	}
	for _, addr := range t.sentinel.SentinelAddrs {
		clients = append(clients, redis.NewSentinelClient(&redis.Options{
			Addr: addr, Username: t.sentinel.SentinelUsername, Password: t.sentinel.SentinelPassword, TLSConfig: config,
			MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true,
		}))
	}
	return t.sentinel.MasterName, clients, nil
}
