// Package library makes the libraries that are compared look alike: each opens a client, and hands out one handle for
// each caller and key. Settings are the libraries' own defaults unless a file here says what is set, and why.
package library

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// Config is what a library is opened with.
type Config struct {
	Addr    string
	Others  []string      // addresses of further servers, for a lock that needs several
	Lease   time.Duration // of each hold, also of one that is renewed
	Poll    time.Duration // pause between two attempts of a waiter, in libraries that poll
	Pool    int           // connections of a go-redis client; 0 leaves its default
	Permits int64         // number of permits that a semaphore has
}

// A Library is one way to take a key and give it back.
type Library struct {
	Name     string
	Contends bool     // several callers can want one key; else every caller needs its own
	Renews   bool     // what is held is kept alive
	Sends    []string // commands that it sends itself, beside EVALSHA, EVAL and those of pub/sub
	Note     string   // what it is and how it is set
	Open     func(Config) (Client, error)
	Waiter   func(Config) (Client, error) // opens the side that only waits, where it needs another client; else nil
}

// A Client is one connection pool with whatever the library keeps beside it.
type Client interface {
	// Handle is for one caller at a time.
	Handle(key string) (Handle, error)
	Close() error
}

// A Handle takes and gives back one key.
type Handle interface {
	Lock(ctx context.Context) error
	Unlock(ctx context.Context) error
}

// The references: what the others are measured against.
const (
	OwnKeyFloor = "go-redis"
	OneKeyFloor = "go-redis, queue and pub/sub"
)

// All are the libraries in the order in which they are shown.
var All = []Library{
	bareGoRedis, queued, redlatch, redsync, redislockLibrary, rueidislockLibrary, bareRueidis, autoPipeline,
}

// Named finds a library.
func Named(name string) (Library, error) {
	for _, l := range All {
		if l.Name == name {
			return l, nil
		}
	}
	for _, p := range Primitives {
		if p.Name == name {
			return p.Library, nil
		}
	}
	return Library{}, fmt.Errorf("no library %q is known", name)
}

// errTaken is the answer of a library that cannot wait.
var errTaken = errors.New("somebody else holds the key")

// newGoRedis opens a client with the defaults of go-redis.
func newGoRedis(config Config) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: config.Addr, PoolSize: config.Pool})
}
