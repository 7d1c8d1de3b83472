package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// A server is the Redis of one run.
type server struct {
	url      string
	embedded bool
	name     string // for people; without the password
	close    func()
}

// serve opens the server of the URL, or starts one inside this process, on a port of loopback that workers reach.
func serve(ctx context.Context, url string) (*server, error) {
	if url == "" {
		mini := miniredis.NewMiniRedis()
		mini.ClockTTL(true) // keys expire with the clock
		if err := mini.Start(); err != nil {
			return nil, fmt.Errorf("start the embedded server: %w", err)
		}
		return &server{url: "redis://" + mini.Addr(), embedded: true, name: "embedded, " + mini.Addr() + " (--url redis://host:port uses yours)", close: mini.Close}, nil
	}
	options, err := redis.ParseURL(url)
	if err != nil {
		return nil, err
	}
	s := &server{url: url, name: fmt.Sprintf("%s, database %d", options.Addr, options.DB), close: func() {}}
	client, err := connect(url)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	limited, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	answer := make(chan error, 1)
	go func() { answer <- client.Ping(limited).Err() }() // which does not look at its context while it waits
	select {
	case err = <-answer:
	case <-limited.Done():
		err = limited.Err()
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("interrupted before the server %s answered", options.Addr)
	}
	var refusal redis.Error
	switch {
	case errors.As(err, &refusal):
		return nil, fmt.Errorf("the server %s refuses: %w; check the user, the password and the database of the URL", options.Addr, err)
	case err != nil:
		return nil, fmt.Errorf("no answer from the server %s: %w; start it, or leave out --url and REDLATCH_URL for an embedded one",
			options.Addr, err)
	}
	return s, nil
}
