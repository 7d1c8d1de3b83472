package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

var sentinelChecks = []*Check{
	{
		ID: "sentinels-few", Level: Warn, Page: "operating.md#sentinel",
		Means: "Fewer than three sentinels watch the master, so the failure of one machine can leave it without a failover.",
		Do:    "Run three sentinels or more, on machines that do not fail together.",
		whole: func(ctx context.Context, p *patient) answer {
			return p.sentinels(func(s said) answer {
				alive, said := 0, ""
				for i, sentinel := range s.alive {
					others, err := sentinel.Sentinels(ctx, p.Master).Result()
					if err != nil {
						continue
					}
					count, dead := 1, 0
					for _, other := range others {
						if flags := other["flags"]; strings.Contains(flags, "s_down") || strings.Contains(flags, "disconnected") {
							dead++
							continue
						}
						count++
					}
					if i == 0 || count > alive {
						alive, said = count, fmt.Sprintf("%d alive and %d dead", count, dead)
					}
				}
				if said == "" {
					return answer{unknown, "no sentinel told of the others"}
				}
				return foundIf(alive < 3, "%s", said)
			})
		},
	},
	{
		ID: "sentinel-silent", Level: Warn, Page: "operating.md#sentinel",
		Means: "A sentinel of the URL does not answer.",
		Do:    "Start it again, or correct the URL.",
		whole: func(_ context.Context, p *patient) answer {
			return p.sentinels(func(s said) answer {
				return foundIf(len(s.silent) > 0, "%s", strings.Join(s.silent, ", "))
			})
		},
	},
	{
		ID: "sentinel-quorum", Level: Error, Page: "operating.md#sentinel",
		Means: "The sentinels are too few to replace the master if it fails.",
		Do:    "Start those that are missing; a majority of all that were ever known must be there.",
		whole: func(ctx context.Context, p *patient) answer {
			return p.sentinels(func(s said) answer {
				is := answer{unknown, "no sentinel answered"}
				for _, sentinel := range s.alive {
					err := sentinel.CkQuorum(ctx, p.Master).Err()
					switch refused, _ := refusal(err); {
					case err == nil:
						is = isFine()
					case refused != nil && strings.Contains(refused.Error(), "NOQUORUM"):
						return isFound("%s", reason(refused))
					case refused != nil && is.state == unknown:
						is = isUnknown(refused)
					}
				}
				return is
			})
		},
	},
	{
		ID: "sentinels-disagree", Level: Error, Page: "operating.md#sentinel",
		Means: "The sentinels name different masters, so two programs can hold the same lock.",
		Do:    "Wait for a failover that is under way; if there is none, remove the wrong master with SENTINEL RESET.",
		whole: func(ctx context.Context, p *patient) answer {
			return p.sentinels(func(s said) answer {
				named := map[string]bool{}
				var all []string
				for _, m := range s.masters {
					if address := oneLine(m["ip"] + ":" + m["port"]); !named[address] {
						named[address] = true
						all = append(all, address)
					}
				}
				return foundIf(len(all) > 1, "%s", strings.Join(all, ", "))
			})
		},
	},
}

// said is what the sentinels answered when they were asked for the master.
type said struct {
	alive   []*redis.SentinelClient // those that answered, in the order of the URL
	masters []map[string]string     // what they said
	silent  []string                // the addresses of the others
	err     error                   // of one of these
}

// askSentinels asks all of them at the same time, so that those that hang cost the others nothing.
func (p *patient) askSentinels(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	masters, errs := make([]map[string]string, len(p.Sentinels)), make([]error, len(p.Sentinels))
	var asking sync.WaitGroup
	for i, sentinel := range p.Sentinels {
		asking.Go(func() { masters[i], errs[i] = sentinel.Master(ctx, p.Master).Result() })
	}
	asking.Wait()
	for i, sentinel := range p.Sentinels {
		if errs[i] != nil {
			p.said.silent, p.said.err = append(p.said.silent, addrOfSentinel(sentinel)), errs[i]
			continue
		}
		p.said.alive, p.said.masters = append(p.said.alive, sentinel), append(p.said.masters, masters[i])
	}
}

// master is where the sentinels say that it is.
func (p *patient) master() (addr string, err error) {
	if len(p.said.masters) == 0 {
		return p.Master, cmp.Or(p.said.err, errors.New("no sentinel answers"))
	}
	return net.JoinHostPort(p.said.masters[0]["ip"], p.said.masters[0]["port"]), nil
}

// sentinels has a check judge what they said.
func (p *patient) sentinels(judge func(said) answer) answer {
	switch {
	case p.Master == "":
		return isBeside("there are no sentinels")
	case len(p.said.alive) > 0:
		return judge(p.said)
	case p.said.err != nil:
		return isUnknown(p.said.err)
	default:
		return answer{unknown, "no sentinel is known"}
	}
}

// addrOfSentinel is the address of a client that has no Options to ask for it.
func addrOfSentinel(client *redis.SentinelClient) string {
	addr, _, _ := strings.Cut(strings.TrimPrefix(client.String(), "Redis<"), " ")
	return addr
}
