package session

import (
	"context"

	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/keys"
	"github.com/redlatch/redlatch/internal/settings"
)

// KeyOf maps a name to its key and checks both.
func (s *Session) KeyOf(name string, set *settings.Settings) (string, error) {
	if name == "" {
		return "", errs.Wrong("the name is empty; a name is what processes share")
	}
	key := name
	if set.Map != nil {
		key = set.Map(name)
	}
	if key == "" {
		return "", errs.Wrong("the name mapper made %q empty", name)
	}
	if s.cluster.Load() && !keys.FitsCluster(key) {
		return "", errs.Wrong("%q cannot be used on a cluster: its braces do not enclose a hash tag, so the keys of one "+
			"object would fall into different slots; use no braces, or {tag} with something inside", key)
	}
	return key, nil
}

// Shard groups what may travel in one script: the cluster slot of key, or 0 where there is one server.
func (s *Session) Shard(key string) int {
	if !s.cluster.Load() && !s.slotted.Load() {
		return 0
	}
	return keys.Slot(key)
}

// ServerOf tells the servers of a client apart. It is not ok where it is not known which of several servers
// would answer.
func (s *Session) ServerOf(ctx context.Context, key string) (server any, ok bool) {
	switch {
	case s.topology != nil:
		master, err := s.topology.MasterForKey(ctx, key)
		return master, err == nil
	case s.cluster.Load(), s.slotted.Load():
		return nil, false
	}
	return s.Client, true
}
