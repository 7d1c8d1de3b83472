package doctor

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// A node is one master, and what several checks ask of it.
type node struct {
	*patient
	addr   string
	client *redis.Client
	name   string // begins as the user's names do, and falls to this master; empty if no such name was found

	up    error           // why it does not execute commands; nil if it does
	trips []time.Duration // how long commands took, in order of length

	infos, hellos fact[map[string]string]
	trials        fact[trial]
	talks         fact[talk]
	lines         fact[line]
	clocks        fact[drift]
}

// A fact is found out once, when the first check asks, and is for all of them.
type fact[T any] struct {
	once  sync.Once
	value T
	err   error
}

func (f *fact[T]) of(find func() (T, error)) (T, error) {
	f.once.Do(func() { f.value, f.err = find() })
	return f.value, f.err
}

// info is one field of INFO.
func (n *node) info(ctx context.Context, field string) (string, error) {
	fields, err := n.allInfo(ctx)
	if err != nil {
		return "", err
	}
	value, ok := fields[field]
	if !ok {
		return "", fmt.Errorf("INFO has no %s", field)
	}
	return value, nil
}

func (n *node) allInfo(ctx context.Context) (map[string]string, error) {
	return n.infos.of(func() (map[string]string, error) {
		text, err := n.client.Info(ctx).Result()
		if err != nil {
			return nil, needing("INFO", err)
		}
		fields := map[string]string{}
		for line := range strings.Lines(text) {
			if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
				fields[name] = value
			}
		}
		return fields, nil
	})
}

// number is a field of INFO that is one.
func (n *node) number(ctx context.Context, field string) (int64, error) {
	text, err := n.info(ctx, field)
	if err != nil {
		return 0, err
	}
	value, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("INFO says %s:%s, which is no number", field, text)
	}
	return value, nil
}

// hello is one field of HELLO, which every user may use.
func (n *node) hello(ctx context.Context, field string) (string, error) {
	fields, err := n.hellos.of(func() (map[string]string, error) {
		reply, err := n.client.Do(ctx, "hello").Result()
		if err != nil {
			return nil, err
		}
		fields := map[string]string{}
		switch pairs := reply.(type) {
		case map[any]any:
			for name, value := range pairs {
				fields[fmt.Sprint(name)] = fmt.Sprint(value)
			}
		case []any:
			for i := 0; i+1 < len(pairs); i += 2 {
				fields[fmt.Sprint(pairs[i])] = fmt.Sprint(pairs[i+1])
			}
		}
		return fields, nil
	})
	if err != nil {
		return "", err
	}
	value, ok := fields[field]
	if !ok {
		return "", fmt.Errorf("HELLO has no %s", field)
	}
	return value, nil
}

// setting is one setting of the server.
func (n *node) setting(ctx context.Context, name string) (string, error) {
	values, err := n.client.ConfigGet(ctx, name).Result()
	if err != nil {
		return "", needing("CONFIG GET", err)
	}
	value, ok := values[name]
	if !ok {
		return "", errors.New("the server has no setting " + name)
	}
	return value, nil
}
