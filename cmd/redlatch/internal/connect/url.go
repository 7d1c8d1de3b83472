package connect

import (
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// errURL quotes nothing of the URL, which may hold a password.
var errURL = errors.New("--url or " + URLVariable + ": give redis://[user:password@]host:port[/database], rediss:// in its place for TLS, " +
	"unix:///path/to/socket, redis+sentinel://host:port,host:port/master, or redis+cluster://host:port,host:port")

// A target is what a URL says; one of its kinds is set.
type target struct {
	single     *redis.Options
	sentinel   *redis.FailoverOptions
	cluster    *redis.ClusterOptions
	tls        bool // the URL asks for it
	unverified bool // by the URL's skip_verify
}

func (t *target) addrs() []string {
	switch {
	case t.cluster != nil:
		return t.cluster.Addrs
	case t.sentinel != nil:
		return t.sentinel.SentinelAddrs
	default:
		return []string{t.single.Addr}
	}
}

func parse(text string) (*target, error) {
	scheme, rest, found := strings.Cut(text, "://")
	if !found {
		return nil, errURL
	}
	secure := strings.HasPrefix(scheme, "rediss")
	plain := "redis://"
	if secure {
		plain = "rediss://"
	}
	t := &target{tls: secure}
	var err error
	switch scheme {
	case "redis", "rediss", "unix":
		t.single, err = redis.ParseURL(text)
		if err == nil && t.single.TLSConfig != nil {
			t.unverified = t.single.TLSConfig.InsecureSkipVerify
		}
	case "redis+cluster", "rediss+cluster":
		p, ok := split(rest)
		if !ok || strings.Trim(p.path, "/") != "" {
			return nil, errURL
		}
		t.cluster, err = redis.ParseClusterURL(plain + p.user + p.hosts[0] + "?" + p.with("addr", p.hosts[1:]...))
	case "redis+sentinel", "rediss+sentinel":
		p, ok := split(rest)
		master, db, _ := strings.Cut(strings.TrimPrefix(p.path, "/"), "/")
		if !ok || master == "" {
			return nil, errURL
		}
		t.sentinel, err = sentinel(plain, p, master, db)
	default:
		return nil, errURL
	}
	if err != nil {
		return nil, errURL
	}
	return t, nil
}

// sentinel reads user and password as those of the Redis servers, which is what every other URL means by them. Those of the
// sentinels themselves are the parameters sentinel_username and sentinel_password.
func sentinel(plain string, p parts, master, db string) (*redis.FailoverOptions, error) {
	own := url.Values{}
	for _, name := range []string{"sentinel_username", "sentinel_password"} {
		if value := p.query.Get(name); value != "" {
			own.Set(name, value)
			p.query.Del(name)
		}
	}
	p.query.Set("master_name", master)
	o, err := redis.ParseFailoverURL(plain + p.user + p.hosts[0] + "/" + db + "?" + p.with("addr", p.hosts[1:]...))
	if err != nil {
		return nil, err
	}
	o.Username, o.Password = o.SentinelUsername, o.SentinelPassword
	o.SentinelUsername, o.SentinelPassword = own.Get("sentinel_username"), own.Get("sentinel_password")
	return o, nil
}

// The parts of a URL with several hosts, which package url refuses.
type parts struct {
	user  string // with the @, or empty
	hosts []string
	path  string
	query url.Values
}

func split(rest string) (p parts, ok bool) {
	rest, query, _ := strings.Cut(rest, "?")
	authority, path, _ := strings.Cut(rest, "/")
	p.path = path
	if at := strings.LastIndex(authority, "@"); at >= 0 {
		p.user, authority = authority[:at+1], authority[at+1:]
	}
	p.hosts = strings.Split(authority, ",")
	for _, host := range p.hosts {
		if host == "" {
			return p, false
		}
	}
	values, err := url.ParseQuery(query)
	p.query = values
	return p, err == nil
}

func (p parts) with(key string, values ...string) string {
	for _, value := range values {
		p.query.Add(key, value)
	}
	return p.query.Encode()
}

// Redacted is the URL without passwords, for programs that this one starts.
func Redacted(text string) string {
	scheme, rest, found := strings.Cut(text, "://")
	if !found {
		return ""
	}
	rest, query, _ := strings.Cut(rest, "?")
	if at := strings.LastIndex(rest, "@"); at >= 0 {
		user, _, _ := strings.Cut(rest[:at], ":")
		rest = rest[at:]
		if user == "" {
			rest = rest[1:] // without the @
		}
		rest = user + rest
	}
	plain := scheme + "://" + rest
	kept := slices.DeleteFunc(strings.Split(query, "&"), func(parameter string) bool {
		return parameter == "" || strings.Contains(strings.ToLower(parameter), "pass")
	})
	if len(kept) > 0 {
		plain += "?" + strings.Join(kept, "&")
	}
	return plain
}
