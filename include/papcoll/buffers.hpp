#pragma once

// What a call says of its buffers: root, counts, blocks, strided and indexed elements.
#include <papcoll/base/buffers.hpp>
#include <papcoll/base/indexed.hpp>
#include <papcoll/base/layouts.hpp>
