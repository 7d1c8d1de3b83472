package views

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fleet"
)

// InspectSchema is the form of Inspect.
const InspectSchema = "redlatch.inspect/1"

// Inspect is one object with everybody who has to do with it.
type Inspect struct {
	Schema     string       `json:"schema"`
	Server     string       `json:"server"`
	Time       Time         `json:"time"` // by the server's clock
	Object     Object       `json:"object"`
	Together   []Together   `json:"together"` // what its holders hold besides by the same identity
	Clients    []Client     `json:"clients"`  // those who hold, say so, or wait, and have an entry
	Forced     *Forced      `json:"forced"`   // the last time in an hour that it was taken away by force
	Unreadable []Unreadable `json:"unreadable"`
	Next       Next         `json:"next"`
	Stale      string       `json:"stale,omitempty"` // the error that kept inspect --watch from having clients report every second

	now time.Time
}

// Together is something that an identity holds that holds the object too: what a goroutine has that takes one lock inside another, or
// what a composite of Redisson has.
type Together struct {
	Owner      string `json:"owner"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	NameBase64 string `json:"name_base64"`
}

// Forced says who has taken it away by force, and why.
type Forced struct {
	At    Time    `json:"at"`
	Ago   Seconds `json:"ago_seconds"`
	Owner string  `json:"owner"` // from whom
	Who   string  `json:"who"`
	Why   string  `json:"why"`
}

// Look looks at one object.
func Look(ctx context.Context, client redis.UniversalClient, server string, hurry *Hurry, kind redlatch.Kind, name string, opts ...fleet.Option) (*Inspect, error) {
	stale := hurry.call(ctx)
	object, err := fleet.Get(ctx, client, kind, name, opts...)
	if err != nil {
		return nil, err
	}
	v := &Inspect{Schema: InspectSchema, Server: server, Stale: stale, now: now(ctx, client), Clients: []Client{}, Together: []Together{}}
	v.Time, v.Object, v.Unreadable = Time(v.now), newObject(object, v.now), newUnreadable(object.Unreadable)
	v.Object.Unreadable = []Unreadable{} // they are about the registry
	if f := object.Forced; f != nil {
		v.Forced = &Forced{Time(f.At), since(f.At, v.now), f.Owner, f.Who, f.Why}
	}
	holders := map[string]bool{}
	for _, h := range object.Holders {
		v.know(h.Client)
		if h.Client != nil {
			holders[h.Owner] = true
		}
	}
	for _, c := range object.Unconfirmed {
		v.know(c.Client)
	}
	for _, w := range object.Waiting.Processes {
		v.know(w.Client)
	}
	if len(holders) > 0 {
		all, err := fleet.Clients(ctx, client, opts...)
		if err != nil {
			return nil, err
		}
		v.together(all, holders)
	}
	v.Next = v.next()
	return v, nil
}

func (v *Inspect) know(c *fleet.Client) {
	if c == nil {
		return
	}
	for _, known := range v.Clients {
		if known.ID == c.ID {
			return
		}
	}
	v.Clients = append(v.Clients, newClient(c))
}

func (v *Inspect) together(all []*fleet.Client, holders map[string]bool) {
	for _, c := range all {
		for _, u := range c.Objects {
			for _, owner := range u.Owners {
				if holders[owner.ID] && u.Key != v.Object.Name {
					v.Together = append(v.Together, Together{owner.ID, string(u.Kind), u.Key, exact(u.Key)})
				}
			}
		}
	}
}

// now is the server's time, or ours where it does not say: ages are differences to times of the server.
func now(ctx context.Context, client redis.UniversalClient) time.Time {
	if at, err := client.Time(ctx).Result(); err == nil {
		return at
	}
	return time.Now()
}
