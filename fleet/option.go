package fleet

import (
	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/rootapi"
)

// An Option changes what is read.
type Option func(*options)

type options struct {
	prefix     string // of the registry's keys
	scan       bool
	most       int64 // how many keys are walked unasked
	primitives []redlatch.Option
}

// WithRegistry reads the registry of the programs that have [redlatch.WithRegistry] with the same prefix. The
// default is none.
func WithRegistry(prefix string) Option { return func(o *options) { o.prefix = prefix } }

// WithScan has [List] go through all keys of the server, however many there are, and so find what no entry
// and no channel names, such as a lock of Redisson for which no call waits. It takes a twentieth of the
// server's time at most, so a hundred million keys last about an hour; the end of the context ends it. By
// default List does so only where there are [ScanLimit] keys at most.
func WithScan() Option { return func(o *options) { o.scan = true } }

// WithOptions gives [Get] options that the object was made with and that its Inspect heeds, such as
// redlatch.WithNameMapper.
func WithOptions(opts ...redlatch.Option) Option {
	return func(o *options) { o.primitives = append(o.primitives, opts...) }
}

func optionsOf(opts []Option) options {
	o := options{most: ScanLimit}
	for _, option := range opts {
		if option != nil {
			option(&o)
		}
	}
	return o
}

// key is the name as Redis has it.
func (o options) key(name string) string {
	if set := rootapi.For(o.primitives); set.Map != nil {
		return set.Map(name)
	}
	return name
}
