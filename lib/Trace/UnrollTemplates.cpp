//===- UnrollTemplates.cpp - what the units of one body have in common ------===//
#include "TemplateMaker.h"

namespace stg {

std::optional<BodyTemplate> makeTemplate(const Program &program, const Body &body, const ProcessGroups &groups,
                                         UnrollDetail detail, PassStats &stats, Diagnostics &diags) {
  return templates::TemplateMaker(program, body, groups, detail, stats, diags).run();
}

} // namespace stg
