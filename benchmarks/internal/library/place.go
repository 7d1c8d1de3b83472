package library

import (
	"errors"
	"sync"

	"github.com/redis/go-redis/v9"

	front "github.com/redlatch/redlatch"
)

// A place has the clients and settings with which the values of a primitive are made.
type place struct {
	clients []*redis.Client // one of Config.Addr, and one of each of Config.Others
	lease   front.Option
	permits int64
}

func newPlace(config Config) *place {
	p := &place{
		clients: []*redis.Client{newGoRedis(config)}, lease: front.WithWatchdogTimeout(config.Lease), permits: max(config.Permits, 1),
	}
	for _, addr := range config.Others {
		config.Addr = addr
		p.clients = append(p.clients, newGoRedis(config))
	}
	return p
}

func (p *place) Close() error {
	var errs []error
	for _, client := range p.clients {
		errs = append(errs, client.Close())
	}
	return errors.Join(errs...)
}

// primitive makes a library in which the callers of one client share one value for each key, as in a program that keeps its
// locks.
func primitive[T any](name, note string, value func(p *place, key string) (T, error), handle func(T) Handle) Library {
	return Library{
		Name: name, Note: note, Contends: true, Renews: true,
		Open: func(config Config) (Client, error) {
			return &shared[T]{place: newPlace(config), value: value, handle: handle, values: map[string]T{}}, nil
		},
	}
}

type shared[T any] struct {
	*place
	value  func(p *place, key string) (T, error)
	handle func(T) Handle

	mu     sync.Mutex
	values map[string]T
}

func (s *shared[T]) Handle(key string) (Handle, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, known := s.values[key]
	if !known {
		var err error
		if v, err = s.value(s.place, key); err != nil {
			return nil, err
		}
		s.values[key] = v
	}
	return s.handle(v), nil
}
