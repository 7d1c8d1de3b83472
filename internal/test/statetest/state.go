package statetest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

// A State is what a database holds: exactly these keys.
type State map[string]Key

// A Key is one key of a State.
type Key struct {
	Value any           // string, Hash, Fields, List, Scores or Deadlines
	TTL   time.Duration // 0: none
}

type (
	Hash      map[string]string
	Fields    map[string]any // hash; a time.Duration is a moment in milliseconds by the server's clock, that much later
	List      []string
	Scores    map[string]float64       // sorted set
	Deadlines map[string]time.Duration // sorted set whose scores are server time in milliseconds, that much later
)

// load writes the state into an empty database.
func (s State) load(ctx context.Context, client *redis.Client, now time.Time) error {
	_, err := client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for name, key := range s {
			switch value := key.Value.(type) {
			case string:
				pipe.Set(ctx, name, value, 0)
			case Hash:
				pipe.HSet(ctx, name, map[string]string(value))
			case Fields:
				for field, content := range value {
					if later, is := content.(time.Duration); is {
						content = now.Add(later).UnixMilli()
					}
					pipe.HSet(ctx, name, field, content)
				}
			case List:
				pipe.RPush(ctx, name, slices.Collect(anys(value))...)
			case Scores:
				for member, score := range value {
					pipe.ZAdd(ctx, name, redis.Z{Member: member, Score: score})
				}
			case Deadlines:
				for member, later := range value {
					pipe.ZAdd(ctx, name, redis.Z{Member: member, Score: float64(now.Add(later).UnixMilli())})
				}
			default:
				return fmt.Errorf("key %s: statetest cannot load a %T", name, value)
			}
			if key.TTL > 0 {
				pipe.PExpireAt(ctx, name, now.Add(key.TTL)) // not the later the slower this goes: the scores are not either
			}
		}
		return nil
	})
	return err
}

func anys(list []string) func(func(any) bool) {
	return func(yield func(any) bool) {
		for _, element := range list {
			if !yield(element) {
				return
			}
		}
	}
}

// read reads the whole database. Nobody changes it meanwhile: the test that owns the server is waiting here.
func read(ctx context.Context, client *redis.Client) (State, error) {
	names, err := client.Keys(ctx, "*").Result()
	if err != nil {
		return nil, err
	}
	state := make(State)
	for _, name := range names {
		kind, err := client.Type(ctx, name).Result()
		if err != nil {
			return nil, err
		}
		var key Key
		switch kind {
		case "string":
			key.Value, err = client.Get(ctx, name).Result()
		case "hash":
			var fields map[string]string
			fields, err = client.HGetAll(ctx, name).Result()
			key.Value = Hash(fields)
		case "list":
			var elements []string
			elements, err = client.LRange(ctx, name, 0, -1).Result()
			key.Value = List(elements)
		case "zset":
			var members []redis.Z
			members, err = client.ZRangeWithScores(ctx, name, 0, -1).Result()
			scores := make(Scores)
			for _, member := range members {
				scores[fmt.Sprint(member.Member)] = member.Score
			}
			key.Value = scores
		case "none": // expired since KEYS
			continue
		default:
			err = fmt.Errorf("statetest cannot read a %s", kind)
		}
		if err != nil {
			return nil, fmt.Errorf("key %s: %w", name, err)
		}
		// PTTL by its number: go-redis turns -1 into a duration of -1 ns.
		left, err := client.Do(ctx, "pttl", name).Int64()
		if err != nil {
			return nil, fmt.Errorf("key %s: %w", name, err)
		}
		if left == 0 {
			left = 1 // less than a millisecond is left, which is not "no TTL"
		}
		key.TTL = max(time.Duration(left)*time.Millisecond, 0)
		state[name] = key
	}
	return state, nil
}

// halved is the state with all TTLs cut in half.
func (s State) halved() State {
	half := maps.Clone(s)
	for name, key := range half {
		key.TTL /= 2
		half[name] = key
	}
	return half
}

// age cuts the TTLs on the server in half, as halved does on paper.
func (s State) age(ctx context.Context, client *redis.Client) error {
	for name, key := range s {
		if key.TTL > 0 {
			if err := client.PExpire(ctx, name, key.TTL/2).Err(); err != nil {
				return err
			}
		}
	}
	return nil
}
