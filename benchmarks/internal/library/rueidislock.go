package library

import (
	"context"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

var rueidislockLibrary = Library{
	Name: "rueidislock", Contends: true, Renews: true,
	Note: "`redis/rueidis/rueidislock` on one key (`KeyMajority: 1`) and with `NoLoopTracking`, without which it is told of its " +
		"own renewals and renews without end; renewed at a third of the lease as redlatch does. `TryNextAfter` is 1 s, " +
		"for at its 20 ms a thousand callers time out",
	Open: func(config Config) (Client, error) {
		locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
			ClientOption:   rueidis.ClientOption{InitAddress: []string{config.Addr}},
			KeyMajority:    1,
			NoLoopTracking: true,
			KeyValidity:    config.Lease,
			ExtendInterval: config.Lease / 3,
			TryNextAfter:   time.Second,
		})
		if err != nil {
			return nil, err
		}
		return rueidislockClient{locker}, nil
	},
}

type rueidislockClient struct{ locker rueidislock.Locker }

func (c rueidislockClient) Handle(key string) (Handle, error) {
	return &rueidislockHandle{locker: c.locker, key: key}, nil
}

func (c rueidislockClient) Close() error {
	c.locker.Close()
	return nil
}

type rueidislockHandle struct {
	locker rueidislock.Locker
	key    string
	unlock context.CancelFunc
}

func (h *rueidislockHandle) Lock(ctx context.Context) (err error) {
	_, h.unlock, err = h.locker.WithContext(ctx, h.key)
	return err
}

// Unlock returns when the server has answered. rueidislock tells nobody whether the key was still held.
func (h *rueidislockHandle) Unlock(context.Context) error {
	h.unlock()
	return nil
}
