// Networks that cannot be: each message in full.
// RUN: hone-opt %s --dist-propagate --split-input-file --verify-diagnostics

// expected-error @+1 {{dist.network is 8 : i64, expected a dictionary}}
module attributes {dist.network = 8 : i64} {}

// -----

// expected-error @+1 {{dist.network has nodes = 2 : i64, expected links, inside, between or a ranks_per_node >= 1}}
module attributes {dist.network = {nodes = 2 : i64}} {}

// -----

// expected-error @+1 {{dist.network has ranks_per_node = 0 : i64, expected links, inside, between or a ranks_per_node >= 1}}
module attributes {dist.network = {ranks_per_node = 0 : i64}} {}

// -----

// expected-error @+1 {{dist.network: links is "net", expected a dictionary}}
module attributes {dist.network = {links = "net"}} {}

// -----

// expected-error @+1 {{dist.network: link 'net' is 1.000000e+00 : f64, expected {latency, bandwidth}}}
module attributes {dist.network = {links = {net = 1.0}}} {}

// -----

// expected-error @+1 {{dist.network: link 'net' has bandwidth = 0.000000e+00 : f64, expected a latency >= 0, a bandwidth > 0 or between_nodes}}
module attributes {dist.network = {links = {net = {bandwidth = 0.0}}}} {}

// -----

// expected-error @+1 {{dist.network: link 'wifi' is new and has no bandwidth, expected one}}
module attributes {dist.network = {links = {wifi = {latency = 1.0}}}} {}

// -----

// expected-error @+1 {{dist.network: between is "nvlink", expected a link between nodes}}
module attributes {dist.network = {between = "nvlink"}} {}

// -----

// expected-error @+1 {{dist.network: inside is "wifi", expected a link inside nodes}}
module attributes {dist.network = {inside = "wifi"}} {}

// -----

// expected-error @+1 {{'dist.mesh' op has axis 'tp' over 'wifi', expected host, net, nvlink or pcie}}
dist.mesh @mesh [<"tp" = 2 over "wifi">]

// -----

// One that the module describes.
module attributes {dist.network = {links = {wifi = {bandwidth = 1.0e8, between_nodes, latency = 1.0e-3}}}} {
  dist.mesh @mesh [<"tp" = 2 over "wifi">]
}

// -----

// expected-error @below {{has attribute dist.experts = {lowering = "gather"}, expected {lowering, factor, enough, gather = {bytes, seconds}, all_to_all = {bytes, seconds}}}}
module attributes {dist.experts = {lowering = "gather"}} {
}
