package views

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/terminal"
	"github.com/redlatch/redlatch/fleet"
)

// LsSchema is the form of Ls.
const LsSchema = "redlatch.ls/1"

// Ls is everything that is held or waited for.
type Ls struct {
	Schema     string       `json:"schema"`
	Server     string       `json:"server"`
	Time       Time         `json:"time"`    // by the server's clock
	Objects    []Object     `json:"objects"` // in the order of their names
	Clients    []Client     `json:"clients"`
	Keys       int64        `json:"keys"`    // of all masters
	Skipped    int64        `json:"skipped"` // how many of them were not looked at
	Missing    string       `json:"missing"` // what may be missing for that, in words
	Unreadable []Unreadable `json:"unreadable"`
	Stale      string       `json:"stale,omitempty"` // the error that kept ls --watch from having clients report every second

	filtered bool
}

// List looks at all of it.
func List(ctx context.Context, client redis.UniversalClient, server string, hurry *Hurry, opts ...fleet.Option) (*Ls, error) {
	stale := hurry.call(ctx)
	report, err := fleet.List(ctx, client, opts...)
	if err != nil {
		return nil, err
	}
	ls := newLs(report, server)
	ls.Stale = stale
	return ls, nil
}

func newLs(r *fleet.Report, server string) *Ls {
	v := &Ls{
		Schema: LsSchema, Server: server, Time: Time(r.At), Objects: []Object{}, Clients: []Client{},
		Keys: r.Keys, Skipped: r.Skipped, Missing: r.Missing(), Unreadable: newUnreadable(r.Unreadable),
	}
	for _, o := range r.Objects {
		v.Objects = append(v.Objects, newObject(o, r.At))
	}
	for _, c := range r.Clients {
		v.Clients = append(v.Clients, newClient(c))
	}
	return v
}

// Lines are the table: those for which somebody waits first, by the longest wait, the others by their names.
func (v *Ls) Lines(out *terminal.Output) []string {
	objects := slices.Clone(v.Objects)
	slices.SortStableFunc(objects, func(a, b Object) int {
		return cmp.Or(cmp.Compare(b.oldest().Duration, a.oldest().Duration), cmp.Compare(min(b.waits(), 1), min(a.waits(), 1)))
	})
	var lines []string
	switch {
	case len(objects) > 0:
		lines = Table(objects, out)
	case v.filtered:
		lines = []string{"Nothing that is held or waited for matches."}
	default:
		lines = []string{"Nothing is held and nobody waits."}
	}
	return append(lines, v.footer(out)...)
}

// footer is what was not seen, or is older than it could be, in a line each.
func (v *Ls) footer(out *terminal.Output) (lines []string) {
	if v.Stale != "" {
		lines = append(lines, terminal.Wrap(out, "", "", terminal.Clean(v.Stale))...)
	}
	if v.Missing != "" {
		lines = append(lines, terminal.Wrap(out, "", "", v.Missing+". --scan looks at all.")...)
	}
	if n := len(v.Unreadable); n > 0 {
		first := v.Unreadable[0]
		lines = append(lines, terminal.Wrap(out, "", "", fmt.Sprintf("%s of the registry could not be read; the first is %s: %s",
			count(int64(n), "part"), terminal.Quote(first.Key), terminal.Clean(first.Reason)))...)
	}
	if len(lines) > 0 {
		lines = append([]string{""}, lines...)
	}
	return lines
}
