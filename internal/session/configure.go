package session

import (
	"maps"
	"time"

	"github.com/redlatch/redlatch/internal/errs"
	"github.com/redlatch/redlatch/internal/settings"
)

// A Setting is what a program says about a client by one option: a Label, a Registry, a Linger, a Cluster or
// a Sharding. A client has one of each type at most. Settings are compared with ==.
type Setting interface {
	option() string // the name of the option, for error texts
}

// The settings; the options of the root package say what each is for.
type (
	Label    string
	Linger   time.Duration
	Cluster  struct{}
	Sharding bool
	Registry struct {
		Prefix string
		Off    bool
	}
)

func (Label) option() string    { return "WithLabel" }
func (Linger) option() string   { return "WithLinger" }
func (Cluster) option() string  { return "WithCluster" }
func (Sharding) option() string { return "WithShardedPubSub" }
func (Registry) option() string { return "WithRegistry or WithoutRegistry" }

// A saying is a setting and the place in the program where Configure was called with it.
type saying struct {
	Setting
	place string
}

// A configuration is all that was said about a client, by option.
type configuration map[string]saying

// Configure notes what a program says about a client, all of it or, with an error, nothing.
func Configure(client Client, place string, all ...Setting) error {
	if why := unfit(client); why != "" {
		return errs.Wrong("%s", why)
	}
	sessions.Lock()
	defer sessions.Unlock()
	known, fresh := recordOf(client).said, configuration{}
	for _, setting := range all {
		before, said := known[setting.option()]
		if !said {
			before, said = fresh[setting.option()]
		}
		switch {
		case !said:
			fresh[setting.option()] = saying{setting, place}
		case before.Setting != setting:
			return errs.Wrong("Configure at %s has another value of %s than Configure at %s, for the same client; have "+
				"one place say it",
				place, setting.option(), before.place)
		}
	}
	s := sessions.of[client].Value()
	switch {
	case len(fresh) == 0:
		return nil
	case s != nil && s.Dispatch.Used():
		return errs.Wrong("Configure at %s comes after the first command that redlatch has sent by the client; call "+
			"it before", place)
	}
	maps.Copy(known, fresh)
	if s != nil {
		s.heed(known)
	}
	return nil
}

// heed has a session that has sent nothing yet go by what was said about its client.
func (s *Session) heed(said configuration) {
	linger := settings.DefaultLinger
	var sharding *Sharding
	for _, one := range said {
		switch v := one.Setting.(type) {
		case Label, Registry:
			if s.Listing != nil {
				s.Listing.Heed(v)
			}
		case Linger:
			linger = time.Duration(v)
		case Cluster:
			s.cluster.Store(true)
		case Sharding:
			sharding = &v
		}
	}
	s.linger.Store(int64(linger))
	s.publish.decide(s.cluster.Load(), sharding)
}
