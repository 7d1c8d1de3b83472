package doctor

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

var sentinelChecks = []*Check{
	{
		ID: "sentinels-few", Level: Warn, Page: "operating.md#sentinel",
		Means: "Fewer than three sentinels watch the master, so the failure of one machine can leave it without a failover.",
		Do:    "Run three sentinels or more, on machines that do not fail together.",
		whole: func(ctx context.Context, p *patient) answer {
			return p.sentinels(ctx, func(said) answer {
				alive, said := 0, ""
				for i, sentinel := range p.Sentinels {
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
		whole: func(ctx context.Context, p *patient) answer {
			return p.sentinels(ctx, func(s said) answer {
				return foundIf(len(s.silent) > 0, "%s", strings.Join(s.silent, ", "))
			})
		},
	},
	{
		ID: "sentinel-quorum", Level: Error, Page: "operating.md#sentinel",
		Means: "The sentinels are too few to replace the master if it fails.",
		Do:    "Start those that are missing; a majority of all that were ever known must be there.",
		whole: func(ctx context.Context, p *patient) answer {
			return p.sentinels(ctx, func(said) answer {
				is := answer{unknown, "no sentinel answered"}
				for _, sentinel := range p.Sentinels {
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
			return p.sentinels(ctx, func(s said) answer {
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

// said is what the sentinels answered that were asked for the master.
type said struct {
	masters []map[string]string // of those that answered
	silent  []string            // the addresses of the others
}

// sentinels has a check judge what they said. All of them are asked once.
func (p *patient) sentinels(ctx context.Context, judge func(said) answer) answer {
	if p.Master == "" {
		return isBeside("there are no sentinels")
	}
	s, err := p.said.of(func() (s said, err error) {
		for _, sentinel := range p.Sentinels {
			master, wrong := sentinel.Master(ctx, p.Master).Result()
			if wrong != nil {
				s.silent, err = append(s.silent, addrOfSentinel(sentinel)), wrong
				continue
			}
			s.masters = append(s.masters, master)
		}
		if len(s.masters) > 0 {
			err = nil
		}
		return s, err
	})
	if err != nil {
		return isUnknown(err)
	}
	return judge(s)
}

// addrOfSentinel is the address of a client that has no Options to ask for it.
func addrOfSentinel(client *redis.SentinelClient) string {
	addr, _, _ := strings.Cut(strings.TrimPrefix(client.String(), "Redis<"), " ")
	return addr
}
